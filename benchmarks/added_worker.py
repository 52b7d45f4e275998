"""A worker that is added while chats are due: when it takes its first chat, and its share of a minute's calls.

Command: python -m benchmarks.added_worker

Two workers of two processes each, on Redis and PostgreSQL. The second starts when the first has been busy for a while;
beat sweeps every minute, as usual. Target: within a minute the second does as much as the first.
"""

import tempfile
import time
from pathlib import Path
from subprocess import Popen
from typing import Any
from uuid import uuid4

from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site

from .measuring import Measurement, show
from .throughput import ask_for, site_on, wait_for

BROKER, CHAT_COUNT, CALL_SECONDS, PROCESSES = "Redis and PostgreSQL", 600, 1.0, 2
#: Calls of the first worker before the second starts, and how long both are watched then.
CALLS_BEFORE, WATCHED_SECONDS = 20, 60


class Model(OpenAIServer):
    """Notes which worker called when, by its API key."""

    def __init__(self) -> None:
        super().__init__(delay=CALL_SECONDS, keep=1)
        self.called: list[tuple[float, str]] = []

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        self.called.append((time.monotonic(), key))

    def count(self, worker: str, since: float, until: float) -> int:
        return sum(worker in key and since <= at < until for at, key in self.called)


def measure() -> list[Measurement]:
    """Start the first worker, then the second, and watch both for a minute."""
    with tempfile.TemporaryDirectory() as folder, site_on(BROKER, Path(folder)) as made, Model() as model:
        if made is None:
            return [Measurement(BROKER, "no such server")]
        seeded = made.start("-m", "benchmarks.throughput", "--banks", 20, "--chats", CHAT_COUNT, "--seed").wait()
        assert seeded == 0, made.output()[-3000:]
        _start(made, model, "first", "-B", "--schedule", f"{folder}/schedule")
        wait_for(made, lambda: len(model.called) >= CALLS_BEFORE)
        started = time.monotonic()
        _start(made, model, "second")
        wait_for(made, lambda: model.count("second", started, time.monotonic()) > 0)
        first_call = next(at for at, key in model.called if "second" in key)
        end = started + WATCHED_SECONDS
        wait_for(made, lambda: time.monotonic() >= end)
        assert ask_for(made, "SELECT sum(pending_outputs) FROM memorybank_chat") != 0, "too few chats for a minute"
        return _rows(model, started, first_call, end)


def _rows(model: Model, started: float, first_call: float, end: float) -> list[Measurement]:
    def share(since: float) -> str:
        calls = {worker: model.count(worker, since, end) for worker in ("first", "second")}
        return f"{calls['second'] / sum(calls.values()):.0%} of {sum(calls.values())}"

    alone = model.count("first", model.called[0][0], started) / (started - model.called[0][0])
    return [
        Measurement("the second's first call after its start, s", f"{first_call - started:.1f}", "≤ 60"),
        Measurement("its share of the calls in the minute after its start", share(started)),
        Measurement("its share from its first call to the end of that minute", share(first_call), "about 50 %"),
        Measurement("calls a second before", f"{alone:.1f}"),
        Measurement(
            "calls a second with both",
            f"{sum(model.count(w, first_call, end) for w in ('first', 'second')) / (end - first_call):.1f}",
        ),
    ]


def _start(made: Site, model: Model, name: str, *more: str) -> Popen[bytes]:
    options = ("--concurrency", PROCESSES, "--loglevel", "WARNING", "--hostname", f"{uuid4().hex}@%h", *more)
    environment = {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "bench", "LLM_API_KEY": name}
    return made.start("-m", "celery", "-A", "config", "worker", *options, **environment)


if __name__ == "__main__":
    show(str(__doc__).splitlines()[0], measure())
