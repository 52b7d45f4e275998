"""A chat of 60,000 tokens summarised with four calls at once, relative to one at a time.

Command: python -m benchmarks parallel_calls; python -m benchmarks.parallel_calls --call-seconds 6

Target: at least 3.3 × as fast. Every call takes the same time, whatever it asks; the model's server is a process of its own.
Our own processor time is the same in both runs and bounds the ratio. On a busy machine, which stretches it, let calls take as
much longer.
"""

import argparse
import os
import time

from memorybank import services

from . import scratch, seeding
from .measuring import Measurement, show
from .turn_cost import LONG_TURN_COUNT, WORDS_PER_TURN, model_server

CALL_SECONDS, CALLS_AT_ONCE = 1.5, (1, 4)


def measure(call_seconds: float = CALL_SECONDS) -> list[Measurement]:
    """Seconds with one call at a time and with four, their ratio, and our own processor time."""
    with model_server(call_seconds) as base_url:
        (one, _, _), (four, cpu, own) = [_summarise(base_url, calls) for calls in CALLS_AT_ONCE]
    return [
        Measurement("seconds a call", f"{call_seconds:g}"),
        Measurement("one call at a time, s", f"{one:.1f}"),
        Measurement("four calls at once, s", f"{four:.1f}"),
        Measurement("times as fast", f"{one / four:.2f} ×", "≥ 3.3 ×"),
        Measurement("our own processor time, s", f"{cpu:.1f}"),
        Measurement("… of it in the thread that waits for the calls, s", f"{own:.1f}"),
        Measurement("load of the machine then", f"{os.getloadavg()[0]:.0f}"),
    ]


def _summarise(base_url: str, calls_at_once: int) -> tuple[float, float, float]:
    """Seconds for the long chat, and of processor time those of all threads and of this one."""
    with scratch.database(LLMS=scratch.model(base_url), CONCURRENCY=calls_at_once):
        bank = seeding.bank()
        seeding.chat_of(bank, turns=2, words=56, key="before")
        services.summarise_now(bank, chat_key="before")  # loads the rules
        seeding.chat_of(bank, turns=LONG_TURN_COUNT, words=WORDS_PER_TURN)
        wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        services.summarise_now(bank, chat_key="long")
        return time.perf_counter() - wall, time.process_time() - cpu, time.thread_time() - own


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--call-seconds", type=float, default=CALL_SECONDS)
    show(str(__doc__).splitlines()[0], measure(parser.parse_args().call_seconds))
