"""Our own processor time of summarising, a turn and for a long chat, without a model and with one that answers at once.

Command: python -m benchmarks turn_cost

The turns are those of the sample, in a project whose block still has room for sentences and in one whose block is full,
and in chats that are summarised again after every second turn. The long chat has 60,000 tokens. The model's server is a process of its own, so only our work counts. It is
processor time, but a busy machine lengthens that, too: compare two versions in turns.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memorybank import services
from memorybank.models import Bank
from memorybank.new_output import NewOutput
from projects.importing import demo

from . import scratch, seeding
from .measuring import Measurement, show

TURN_COUNT = 120
LONG_TURN_COUNT, WORDS_PER_TURN = 180, 224  # about 330 tokens a turn
REPETITIONS = 3


def measure() -> list[Measurement]:
    """The least of several runs of each."""
    with model_server() as base_url:
        turn = [_least(base_url, full) for base_url, full in (("", False), (base_url, False), (base_url, True))]
        continued = min(_continued_turn_ms(base_url) for _ in range(REPETITIONS))
        long = [min(_long_chat(url) for _ in range(REPETITIONS)) for url in ("", base_url)]
    return [
        Measurement("a turn without a model, ms", f"{turn[0]:.1f}"),
        Measurement("a turn with a model, room in the block, ms", f"{turn[1]:.1f}"),
        Measurement("a turn with a model, full block, ms", f"{turn[2]:.1f}"),
        Measurement("a turn of a continued chat with a model, ms", f"{continued:.1f}"),
        Measurement("a chat of 60,000 tokens without a model, s", f"{long[0]:.2f}"),
        Measurement("a chat of 60,000 tokens with a model, s", f"{long[1]:.2f}"),
    ]


def _least(base_url: str, full: bool) -> float:
    return min(_turn_ms(base_url, full) for _ in range(REPETITIONS))


def _turn_ms(base_url: str, full: bool) -> float:
    with _database(base_url):
        bank = seeding.bank(max_tokens=200 if full else 32_000)
        seeding.chat_of(bank, turns=20, words=112, key="before")
        services.summarise_now(bank, chat_key="before")  # loads the rules, and fills the small block
        for number, said in enumerate(_sample()):
            _record(bank, f"chat {number % 12}", said)
        return _spent(bank, [f"chat {number}" for number in range(12)]) / TURN_COUNT * 1000


def _continued_turn_ms(base_url: str) -> float:
    """Of chats of 30 turns each, summarised after every second turn."""
    with _database(base_url):
        bank, spent = seeding.bank(), 0.0
        seeding.chat_of(bank, turns=20, words=112, key="before")
        services.summarise_now(bank, chat_key="before")
        for number, said in enumerate(_sample()):
            _record(bank, chat := f"chat {number // 30}", said)
            spent += _spent(bank, [chat] if number % 2 else [])
        return spent / TURN_COUNT * 1000


def _sample() -> list[NewOutput]:
    return [line.output for line in demo.load_sample()][:TURN_COUNT]


def _record(bank: Bank, chat: str, said: NewOutput) -> None:
    texts = {"author": said.author, "question": said.question, "answer": said.answer}
    services.record(bank, chat_key=chat, created_at=said.created_at, **texts)


def _long_chat(base_url: str) -> float:
    with _database(base_url):
        bank = seeding.bank()
        seeding.chat_of(bank, turns=2, words=56, key="before")
        services.summarise_now(bank, chat_key="before")
        seeding.chat_of(bank, turns=LONG_TURN_COUNT, words=WORDS_PER_TURN)
        return _spent(bank, ["long"])


def _spent(bank: Bank, chats: list[str]) -> float:
    """Seconds of processor time for summarising these chats."""
    started = time.process_time()
    for chat in chats:
        services.summarise_now(bank, chat_key=chat)
    return time.process_time() - started


@contextmanager
def _database(base_url: str) -> Iterator[None]:
    with scratch.database(**({"LLMS": scratch.model(base_url)} if base_url else {})):
        yield


@contextmanager
def model_server(delay: float = 0) -> Iterator[str]:
    """The base URL of the fake model, in a process of its own; a call takes ``delay`` seconds."""
    command = [sys.executable, "-m", "tests.support.openai_server", "--port", "0", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            [base_url] = re.findall(r"http\S+", process.stdout.readline())
            yield base_url
        finally:
            process.terminate()


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())
