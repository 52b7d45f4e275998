"""Streams through the gateway beside streams straight from the upstream: errors, memory, time to the first byte.

    python -m benchmarks.gateway --streams 200 --seconds 60

Site (SQLite), upstream and clients share this machine. Every stream is a chat of its own in a project with memory. The
model thinks for 0.3 s and says ten words a second, for ten seconds. One at a time both ways take turns, so that a busy
moment hits both alike.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.support.gateway_site import Gateway, gateway

from .measuring import Measurement, show

#: Seconds before the first word and between two words, and how many there are.
FIRST_TOKEN_SECONDS, TOKEN_SECONDS, ANSWER_WORDS = 0.3, 0.1, 100
QUESTION = "Please tell me in a hundred words what this project is about, who is who, and what was decided last week."


@dataclass
class Way:
    """One way to the model."""

    url: str
    key: str
    first: list[float] = field(default_factory=list)  # milliseconds to the first byte
    errors: list[str] = field(default_factory=list)
    whole: int = 0


async def stream(client: httpx2.AsyncClient, way: Way, *, whole: bool) -> None:
    """One answer: to its end, or until it begins."""
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    started, last = time.perf_counter(), b""
    try:
        async with client.stream("POST", way.url, json=body, headers={"Authorization": f"Bearer {way.key}"}) as answer:
            async for chunk in answer.aiter_raw():
                if not last:
                    way.first.append((time.perf_counter() - started) * 1000)
                    if not whole:
                        return
                last = chunk
    except httpx2.HTTPError as error:
        way.errors.append(type(error).__name__)
        return
    if answer.status_code == 200 and b"[DONE]" in last:
        way.whole += 1
    else:
        way.errors.append(f"{answer.status_code}: {last[-80:]!r}")


async def keep_going(client: httpx2.AsyncClient, way: Way, until: float, wait: float) -> None:
    """One place of the crowd: a stream after another."""
    await asyncio.sleep(wait)
    while time.monotonic() < until:
        await stream(client, way, whole=True)


async def crowd(way: Way, streams: int, seconds: float) -> None:
    """So many at once, for so long; they begin one after another, as those of people do."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=streams)
    async with httpx2.AsyncClient(timeout=120, limits=limits) as client:
        until, apart = time.monotonic() + seconds, (FIRST_TOKEN_SECONDS + TOKEN_SECONDS * ANSWER_WORDS) / streams
        await asyncio.gather(*(keep_going(client, way, until, at * apart) for at in range(streams)))


async def in_turns(ways: list[Way], many: int) -> None:
    """One at a time, each way as often."""
    async with httpx2.AsyncClient(timeout=120) as client:
        for _ in range(many):
            for way in ways:
                await stream(client, way, whole=False)


def megabytes(pid: int) -> float:
    """What a process holds of memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], part: int) -> float:
    """Of so many hundredths."""
    return statistics.quantiles(values, n=100)[part - 1] if len(values) > 1 else float("nan")


@contextmanager
def upstream(*, delay: float = 0.0, pace: float, words: int = 0) -> Iterator[str]:
    """In a process of its own; without ``words`` it says again what it was asked."""
    fields = {"--delay": delay, "--pace": pace, "--words": words}
    command = [
        sys.executable,
        "-m",
        "tests.support.upstream",
        *(str(item) for option in fields.items() for item in option),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def measure(streams: int, seconds: float) -> list[Measurement]:
    """Half of the crowd goes straight, in turns; what the gateway adds is the difference."""
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream(delay=FIRST_TOKEN_SECONDS, pace=TOKEN_SECONDS, words=ANSWER_WORDS) as address,
        gateway(Path(folder), DEBUG="false", SECRET_KEY="x" * 50, GATEWAY_OPENAI_BASE_URL=address) as served,
    ):
        through, straight = _through(served), Way(f"{address}/chat/completions", "x")
        asyncio.run(in_turns([through, straight], 10))  # whatever is loaded once is loaded
        alone = [_through(served), Way(straight.url, "x")]
        asyncio.run(in_turns(alone, 50))
        through.first.clear()
        straight.first.clear()
        before, used = megabytes(served.server.pid), processor(served.server.pid)
        asyncio.run(crowd(through, streams, seconds / 2))
        half = megabytes(served.server.pid)
        asyncio.run(crowd(through, streams, seconds / 2))
        after, used = megabytes(served.server.pid), processor(served.server.pid) - used
        asyncio.run(crowd(straight, streams, seconds / 2))
        rows = [
            Measurement("load of the machine, 1 minute", f"{os.getloadavg()[0]:.1f}"),
            Measurement(f"{streams} streams for {seconds:.0f} s: whole", f"{through.whole:,}"),
            Measurement("errors", f"{len(through.errors)} {through.errors[:2] or ''}", "0"),
            Measurement("processor time a stream, ms", f"{used * 1000 / max(1, through.whole):.1f}"),
            Measurement("memory before, half-way, after, MB", f"{before:.0f}, {half:.0f}, {after:.0f}", "flat"),
        ]
        return rows + _added("one at a time", *alone) + _added(f"{streams} at once", through, straight)


def _through(served: Gateway) -> Way:
    return Way(f"{served.base_url}/chat/completions", served.key())


def _added(what: str, through: Way, straight: Way) -> list[Measurement]:
    rows = []
    for part, target in ((50, "≤ 3 ms more"), (99, "≤ 1.2 ×")):
        ours, theirs = percentile(through.first, part), percentile(straight.first, part)
        rows.append(
            Measurement(f"{what}: first byte p{part}, gateway / direct, ms", f"{ours:.1f} / {theirs:.1f}", target)
        )
    return rows


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    show("Gateway", measure(arguments.streams, arguments.seconds))


if __name__ == "__main__":
    main()
