"""Requests through the gateway with memory on, beside the same requests straight to the upstream.

    python -m benchmarks.gateway_load --requests 300 --litellm /path/to/litellm

A project with the sample's memory; every request opens a chat of its own and asks something that recall answers. Site
(SQLite, one process), upstream and client share this machine. One at a time the ways take turns, so that a busy moment
hits all alike. With ``--litellm``, LiteLLM's proxy (without memory) is a third way.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.commands import ROOT
from tests.support.gateway_site import Gateway, free_port, gateway

from .gateway import percentile, processor, upstream
from .measuring import Measurement, show

SAMPLE = ROOT / "projects/importing/sample/chats.jsonl"
PROJECT = "northwind-clinics/billing-migration"
#: Characters of a long message, as many as a turn may have.
MEGABYTE = 990_000
LITELLM_KEY = "sk-" + "0" * 32
QUESTIONS = [
    "Who is our contact at Paywright?",
    "When is the go-live, and what has to be done before it?",
    "Which database did we choose, and why?",
    "What did Gillian say about the rehearsal?",
    "Please write a short status mail for the clinics about the invoices.",
]


@dataclass
class Way:
    """One way to the model, by an address and a key, with the milliseconds of its requests."""

    name: str
    url: str
    key: str
    times: list[float] = field(default_factory=list)
    errors: int = 0


class Connection:
    """A connection that is kept: the least that a client can cost."""

    def __init__(self, way: Way) -> None:
        self._way, self._address = way, urlsplit(way.url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: dict[str, Any]) -> bytes:
        """Send a request, and note how long the whole answer took."""
        raw = json.dumps(body).encode()
        head = f"POST {self._address.path} HTTP/1.1\r\nHost: {self._address.netloc}\r\nAuthorization: Bearer "
        fields = f"{self._way.key}\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        started = time.perf_counter()
        try:
            answer, content = await self._send(f"{head}{fields}".encode() + raw)
        except asyncio.IncompleteReadError:  # a server that closes what was idle
            self._streams, started = None, time.perf_counter()
            answer, content = await self._send(f"{head}{fields}".encode() + raw)
        self._way.times.append((time.perf_counter() - started) * 1000)
        self._way.errors += b" 200 " not in answer.splitlines()[0]
        return answer + content

    async def _send(self, request: bytes) -> tuple[bytes, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.hostname, self._address.port, limit=2**22)
        reader, writer = self._streams
        writer.write(request)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        return answer, await _content(reader, answer)

    def close(self) -> None:
        """Close it."""
        if self._streams:
            self._streams[1].close()


async def _content(reader: asyncio.StreamReader, head: bytes) -> bytes:
    fields = dict(line.split(b": ", 1) for line in head.splitlines() if b": " in line)
    if b"content-length" in fields:
        return await reader.readexactly(int(fields[b"content-length"]))
    parts = []
    while length := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(length))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


def question(number: int, characters: int = 0) -> dict[str, Any]:
    """A request that opens a chat; ``characters`` of a pasted log follow its question."""
    log = "2026-05-08 13:56:00 INFO worker 7 invoice 1234 of clinic Paywright was written\n"
    pasted = f"\n{log * (characters // len(log))}" if characters else ""
    words = f"{QUESTIONS[number % len(QUESTIONS)]} Number {number}.{pasted}"
    return {"model": "small", "messages": [{"role": "user", "content": words}]}


async def in_turns(ways: list[Way], requests: int, *, start: int = 0, characters: int = 0) -> None:
    """One request at a time, each way as often."""
    connections = [Connection(way) for way in ways]
    for number in range(start, start + requests):
        for connection in connections:
            await connection.ask(question(number, characters))
    for connection in connections:
        connection.close()


async def at_once(way: Way, clients: int, seconds: float, *, start: int) -> float:
    """So many clients, each asking again as soon as it is answered; requests a second."""
    until, numbers, done = time.monotonic() + seconds, iter(range(start, start + 10**6)), 0

    async def one() -> None:
        nonlocal done
        connection = Connection(way)
        while time.monotonic() < until:
            await connection.ask(question(next(numbers)))
            done += 1
        connection.close()

    started = time.monotonic()
    await asyncio.gather(*(one() for _ in range(clients)))
    return done / (time.monotonic() - started)


async def timed(way: Way, requests: int, start: int, characters: int) -> list[float]:
    """The milliseconds of so many requests, one at a time."""
    alone = Way(way.name, way.url, way.key)
    await in_turns([alone], requests, start=start, characters=characters)
    assert not alone.errors
    return alone.times


@contextmanager
def pasting(way: Way, start: int, clients: int = 4) -> Iterator[None]:
    """So many clients that paste a log of a megabyte again and again, in a process of their own."""

    async def paste() -> None:
        await asyncio.gather(*(timed(way, 10**6, start + 10_000 * client, MEGABYTE) for client in range(clients)))

    process = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(paste()), daemon=True)
    process.start()
    try:
        time.sleep(1)
        yield
    finally:
        process.kill()
        process.join()


def long_messages(through: Way, direct: Way, pid: int) -> list[Measurement]:
    """A pasted log of a megabyte beside a kilobyte, in turns, and small requests while four clients paste logs.

    ``pid`` is the gateway's process, whose processor time counts. On a busy machine only this time says anything: for
    small requests it includes what the process does for long ones meanwhile.
    """
    short, long, straight, straight_short = list[float](), list[float](), list[float](), list[float]()
    spent: dict[str, float] = defaultdict(float)

    def spend(name: str, way: Way, requests: int, start: int, characters: int) -> list[float]:
        before = processor(pid)
        times = asyncio.run(timed(way, requests, start, characters))
        spent[name] += processor(pid) - before
        return times

    for number in range(10_000, 10_500, 100):
        short += spend("short", through, 10, number, 1_000)
        long += spend("long", through, 10, number + 10_000, MEGABYTE)
        straight += asyncio.run(timed(direct, 10, number, MEGABYTE))
        straight_short += asyncio.run(timed(direct, 10, number, 1_000))
    alone, straight_alone = spend("alone", through, 40, 30_000, 0), asyncio.run(timed(direct, 1_000, 0, 0))
    with pasting(through, 40_000):
        beside = spend("beside", through, 40, 90_000, 0)
    with pasting(direct, 0):
        straight_beside = asyncio.run(timed(direct, 1_000, 0, 0))
    p95 = percentile(beside, 95) / percentile(alone, 95)
    added = (percentile(long, 50) - percentile(straight, 50)) / (percentile(short, 50) - percentile(straight_short, 50))
    return [
        Measurement("a message of 1 MB / 1 KB, processor time", f"{spent['long'] / spent['short']:.1f} ×", "≤ 2 ×"),
        Measurement("a message of 1 MB / 1 KB, p50", f"{percentile(long, 50) / percentile(short, 50):.1f} ×"),
        Measurement("… added to what the upstream takes", f"{added:.1f} ×", "≤ 2 ×"),
        Measurement("a message of 1 MB, p50, gateway / direct, ms", _pair(long, straight, 50)),
        Measurement("small requests beside four of 1 MB / alone, p95", f"{p95:.1f} ×", "≤ 1.5 ×"),
        Measurement("… processor time meanwhile", f"{spent['beside'] / spent['alone']:.1f} ×"),
        Measurement("… p95 direct, alone / beside, ms", _pair(straight_alone, straight_beside, 95)),
    ]


def _pair(ours: list[float], theirs: list[float], part: int) -> str:
    return f"{percentile(ours, part):.1f} / {percentile(theirs, part):.1f}"


def prepare(served: Gateway) -> str:
    """Import the sample, make its memory, and return a key to a project of it."""
    for arguments in (
        ("import_chats", SAMPLE, "--enable"),
        ("run_memory", "--until-idle", "--project", PROJECT, "--now", "2026-07-01T00:00:00Z"),
    ):
        done = served.site.call(*arguments)
        assert done.code == 0, done.err
    made = served.site.call("create_api_key", PROJECT, "--name", "load", "--scopes", "write")
    return next(word for word in made.out.split() if word.startswith("mb_"))


@contextmanager
def litellm(program: Path, address: str, folder: Path) -> Iterator[str]:
    """LiteLLM's proxy before the same upstream, one process."""
    config = folder / "litellm.yaml"
    model = {"model": "openai/small", "api_base": address, "api_key": "x"}
    config.write_text(json.dumps({"model_list": [{"model_name": "small", "litellm_params": model}]}))
    port = free_port()
    command = [program, "--config", config, "--port", port, "--num_workers", 1, "--telemetry", "False"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DATABASE", "TEST"))}
    clean["LITELLM_MASTER_KEY"] = LITELLM_KEY
    with (folder / "litellm.log").open("wb") as log:
        process = subprocess.Popen([*map(str, command)], stdout=log, stderr=log, env=clean)
        try:
            for _ in range(600):
                time.sleep(0.2)
                if b"Uvicorn running" in (folder / "litellm.log").read_bytes():
                    break
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait()


def measure(requests: int, seconds: float, program: Path | None) -> list[Measurement]:
    """One run: each way one at a time, in turns, then many at once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(upstream(pace=0.0, words=20))
        served = stack.enter_context(
            gateway(
                folder,
                DEBUG="false",
                SECRET_KEY="x" * 50,
                GATEWAY_OPENAI_BASE_URL=address,
                API_MEGABYTES_PER_MINUTE="0",
            )
        )
        ways = [
            Way("gateway", f"{served.base_url}/chat/completions", prepare(served)),
            Way("direct", f"{address}/chat/completions", "x"),
        ]
        if program:
            proxy = stack.enter_context(litellm(program, address, folder))
            ways.append(Way("LiteLLM", f"{proxy}/chat/completions", LITELLM_KEY))
        asyncio.run(in_turns(ways, 30))
        for way in ways:
            way.times.clear()
        asyncio.run(in_turns(ways, requests, start=1_000))
        rows = [Measurement("load of the machine, 1 minute", f"{os.getloadavg()[0]:.1f}")]
        rows += _latencies(ways)
        rows += long_messages(ways[0], ways[1], served.server.pid)
        for way in ways:
            way.times.clear()
            used = processor(served.server.pid)
            rate = asyncio.run(at_once(way, 16, seconds, start=100_000))
            used = processor(served.server.pid) - used
            shown = f"{rate:.0f}"
            rows.append(Measurement(f"{way.name}: requests a second, 16 clients", shown, "≥ 120" * (way is ways[0])))
            if way is ways[0]:
                rows.append(
                    Measurement("gateway: processor time a request, ms", f"{used * 1000 / (rate * seconds):.1f}")
                )
        rows.append(Measurement("errors", str(sum(way.errors for way in ways)), "0"))
        return rows


def _latencies(ways: list[Way]) -> list[Measurement]:
    rows, direct = [], ways[1]
    for way in (ways[0], *ways[2:]):
        for part, target in ((50, "≤ 8"), (95, "≤ 30")):
            added = percentile(way.times, part) - percentile(direct.times, part)
            rows.append(
                Measurement(f"{way.name}: added p{part} over direct, ms", f"{added:.1f}", target * (way is ways[0]))
            )
    return rows


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--litellm", type=Path)
    arguments = parser.parse_args()
    show("Gateway", measure(arguments.requests, arguments.seconds, arguments.litellm))


if __name__ == "__main__":
    main()
