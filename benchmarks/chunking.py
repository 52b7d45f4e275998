"""A long chat in parallel chunks: how much sooner its summary is there than one call at a time.

A chat of 60,000 tokens against a model that takes one second for every call, with a concurrency of
4 and of 1. Target: at least 3.5 × faster.
"""

import math

from memorybank import services
from memorybank.models import LLMCall
from tests.openai_server import OpenAIServer

from . import scratch, seeding
from .measuring import Measurement, seconds, show

TURNS, WORDS = 180, 224  # about 330 tokens a turn
DELAY = 1.0
CONCURRENCY = 4


def measure() -> list[Measurement]:
    """The same chat twice, serial and parallel, and the best that the number of calls allows."""
    with OpenAIServer(delay=DELAY) as server:
        serial, calls, size = _summarise(server, 1)
        parallel, _, _ = _summarise(server, CONCURRENCY)
    chunks = calls["chunk"]
    merges = sum(calls.values()) - chunks
    ideal = (chunks + merges) / (math.ceil(chunks / CONCURRENCY) + math.ceil(merges / CONCURRENCY))
    return [
        Measurement("tokens recorded", f"{size:,}", "≈ 60,000"),
        Measurement("calls (chunks + merges)", f"{chunks} + {merges}"),
        Measurement("one call at a time, s", f"{serial:.1f}"),
        Measurement(f"{CONCURRENCY} at a time, s", f"{parallel:.1f}"),
        Measurement("faster", f"{serial / parallel:.2f} ×", "≥ 3.5 ×"),
        Measurement("best for this many calls, if nothing else took time", f"{ideal:.2f} ×"),
    ]


def _summarise(server: OpenAIServer, concurrency: int) -> tuple[float, dict[str, int], int]:
    """Seconds, calls by purpose, and tokens recorded."""
    with scratch.database(LLMS=scratch.model(server.base_url), CONCURRENCY=concurrency):
        bank = seeding.bank()
        size = seeding.chat_of(bank, turns=TURNS, words=WORDS)
        _warm_up(server)
        spent = seconds(lambda: services.summarise_now(bank, chat_key="long"))
        calls = {p: bank.llm_calls.filter(purpose=p).count() for p in LLMCall.Purpose.values}
    return spent, calls, size


def _warm_up(server: OpenAIServer) -> None:
    """A first call imports the client (half a second); that is no part of either."""
    server.delay = 0.0
    other = seeding.bank()
    seeding.chat_of(other, turns=2, words=56)
    services.summarise_now(other, chat_key="long")
    server.delay = DELAY


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())
