"""Summarising one long chat: chunks in parallel beside one call at a time.

Command: python -m benchmarks chunking

A chat of 60,000 tokens, a model that takes one second for each call, concurrency 4 and 1 alternately, several times because
the machine may be busy. Both runs make the same chunks, so only the waiting differs. A single call could not read the whole
chat. The model's server runs in the same process, so its work counts as ours. Target: at least 3.5 × faster.
"""

import math
import time
from dataclasses import dataclass
from statistics import median

from memorybank import services
from memorybank.models import LLMCall
from tests.support.openai_server import OpenAIServer

from . import scratch, seeding
from .measuring import Measurement, seconds, show

TURN_COUNT, WORDS_PER_TURN = 180, 224  # about 330 tokens a turn
CALL_SECONDS = 1.0
MAX_PARALLEL_CALLS = 4
REPETITIONS = 3


def measure() -> list[Measurement]:
    """The same chat serial and parallel, in pairs, and the best that the number of calls allows."""
    with OpenAIServer(delay=CALL_SECONDS) as server:
        pairs = [(_summarise(server, 1), _summarise(server, MAX_PARALLEL_CALLS)) for _ in range(REPETITIONS)]
    serial, parallel = ([run.seconds for run in runs] for runs in zip(*pairs, strict=True))
    ratios = [one / other for one, other in zip(serial, parallel, strict=True)]
    in_turn, together = pairs[0]
    least = sum(math.ceil(calls / MAX_PARALLEL_CALLS) for calls in (together.chunks, together.merges)) * CALL_SECONDS
    return [
        Measurement("tokens recorded", f"{together.tokens:,}", "≈ 60,000"),
        Measurement("calls one at a time (chunks + merges)", f"{in_turn.chunks} + {in_turn.merges}"),
        Measurement(
            f"calls {MAX_PARALLEL_CALLS} at a time (chunks + merges)", f"{together.chunks} + {together.merges}"
        ),
        Measurement("one call at a time, median s", f"{median(serial):.1f}"),
        Measurement(f"{MAX_PARALLEL_CALLS} at a time, median s", f"{median(parallel):.1f}"),
        Measurement("of these not waiting for the model, least s", f"{min(parallel) - least:.1f}"),
        Measurement("processor time of our own, least s", f"{min(run.cpu for _, run in pairs):.1f}"),
        Measurement(f"faster, median of {REPETITIONS} pairs", f"{median(ratios):.2f} ×", "≥ 3.5 ×"),
        Measurement("faster, least and most", f"{min(ratios):.2f} × … {max(ratios):.2f} ×"),
        Measurement("faster, least time by least time", f"{min(serial) / min(parallel):.2f} ×"),
        Measurement("best for these calls, if nothing else took time", f"{in_turn.calls * CALL_SECONDS / least:.2f} ×"),
    ]


@dataclass(frozen=True, slots=True)
class Run:
    """One summary of the chat: how long it took, and for what."""

    seconds: float
    cpu: float
    tokens: int
    chunks: int
    merges: int

    @property
    def calls(self) -> int:
        """All calls of the model."""
        return self.chunks + self.merges


def _summarise(server: OpenAIServer, concurrency: int) -> Run:
    with scratch.database(LLMS=scratch.model(server.base_url), CONCURRENCY=concurrency):
        bank = seeding.bank()
        size = seeding.chat_of(bank, turns=TURN_COUNT, words=WORDS_PER_TURN)
        _warm_up(server)
        cpu = time.process_time()
        spent = seconds(lambda: services.summarise_now(bank, chat_key="long"))
        cpu = time.process_time() - cpu
        calls = bank.llm_calls.all()
        chunks = calls.filter(purpose=LLMCall.Purpose.CHUNK).count()
        return Run(spent, cpu, size, chunks, calls.count() - chunks)


def _warm_up(server: OpenAIServer) -> None:
    """A first call imports the client (half a second); that is no part of either."""
    server.delay = 0.0
    other = seeding.bank()
    seeding.chat_of(other, turns=2, words=56)
    services.summarise_now(other, chat_key="long")
    server.delay = CALL_SECONDS


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())
