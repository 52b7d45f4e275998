"""Response times of pages beside open streams, and the memory of the web server.

    python -m benchmarks.streams --streams 100 --pages 150

A slow upstream answers so many chats of one reader, each heard over a connection of its own through the event stream of
its page, while she opens other pages one after another. Site (SQLite), upstream and reader share this machine; rounds
without and with streams are taken in turns, so that a busy moment hits both alike. Targets: nearly as quick as without.
"""

import argparse
import asyncio
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx2

from tests.projects.chat.test_lost_answers import PEOPLE, Browser
from tests.support.gateway_site import free_port
from tests.support.own_site import site, wait_until

from .gateway import megabytes, percentile, upstream
from .measuring import Measurement, show

REPETITIONS = 2
#: Seconds between two words of an answer.
TOKEN_SECONDS = 0.5
#: Said again by the upstream, word by word.
QUESTION = "a " * 100
SET_UP = """
own = service.begin(project, bob).chat
for number in range(20):
    services.record(
        project.bank, chat_key=own.key, author="bob", question=f"Where is crate {number}?", answer="In **hall 9**."
    )
print("chat", own.key)
for _ in range(STREAMS):
    print("chat", service.begin(project, bob).chat.key)
"""


@dataclass
class Crowd:
    """Streams that are open. ``events`` is how many came, ``ended`` how many streams ended, ``errors`` what went wrong."""

    reader: httpx2.AsyncClient
    opened: int = 0
    events: int = 0
    ended: int = 0
    errors: list[str] = field(default_factory=list)

    async def hear(self, chat: str, message: str = QUESTION) -> None:
        """Send a message and listen until its answer is there."""
        try:
            async with self.reader.stream("GET", await self._ask(chat, message)) as answer:
                self.opened += 1
                async for line in answer.aiter_lines():
                    self.events += line.startswith("event: text")
                    self.ended += line.startswith("event: end")
                if answer.status_code != 200:
                    self.errors.append(str(answer.status_code))
        except (httpx2.HTTPError, LookupError) as error:
            self.errors.append(type(error).__name__)

    async def _ask(self, chat: str, message: str) -> str:
        """Where the answer is streamed."""
        headers = {
            "Accept": "application/json",
            "X-CSRFToken": self.reader.cookies["csrftoken"],
            "Prefer": "respond-async",
        }
        fields = {"message": message, "key": uuid4().hex}
        response = await self.reader.post(chat, json=fields, headers=headers)
        match = re.search(r'data-stream="([^"]+)"', response.json()["turn"])
        if not match:  # answered already, or refused
            raise LookupError
        return match[1]


@dataclass
class Round:
    """How long pages took, in milliseconds."""

    taken: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    async def look(self, reader: httpx2.AsyncClient, pages: Sequence[str], times: int) -> None:
        """Open one page after another."""
        for number in range(times):
            started = time.perf_counter()
            got = await reader.get(pages[number % len(pages)])
            self.taken.append((time.perf_counter() - started) * 1000)
            if got.status_code != 200:
                self.errors.append(str(got.status_code))


async def log_in(reader: httpx2.AsyncClient) -> None:
    """As Bob."""
    page = await reader.get("/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token
    fields = {"csrfmiddlewaretoken": token[1], "username": "bob", "password": "a pass phrase"}
    assert (await reader.post("/login/", data=fields)).status_code == 302


async def take(address: str, pid: int, chats: Sequence[str], times: int) -> list[Measurement]:
    """Rounds in turns."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=120, limits=limits) as reader:
        await log_in(reader)
        pages = [chats[0], "/p/acme/apollo/", "/p/acme/apollo/memory/", "/"]
        await Round().look(reader, pages, 20)  # whatever is loaded once is loaded
        await Crowd(reader).hear(chats[1], "a")
        without, beside, memory, crowd = Round(), Round(), [megabytes(pid)], Crowd(reader)
        for _ in range(REPETITIONS):
            await without.look(reader, pages, times)
            ended, opened = crowd.ended, crowd.opened
            hearing = [asyncio.create_task(crowd.hear(chat)) for chat in chats[1:]]
            while crowd.opened - opened < len(hearing) and not crowd.errors:
                await asyncio.sleep(0.1)
            before, started = crowd.events, time.perf_counter()
            await beside.look(reader, pages, times)
            rate = (crowd.events - before) / (time.perf_counter() - started)
            early = crowd.ended - ended
            memory.append(megabytes(pid))
            await asyncio.gather(*hearing)
    return [
        Measurement("load of the machine, 1 minute", f"{os.getloadavg()[0]:.1f}"),
        *(_compared(part, without, beside) for part in (50, 99)),
        Measurement("events a second, last round", f"{rate:.0f}"),
        Measurement("streams that were over before the last round", str(early), "0"),
        Measurement("errors", str(crowd.errors + without.errors + beside.errors), "[]"),
        Measurement("memory before, with streams of each round, MB", ", ".join(f"{item:.0f}" for item in memory)),
    ]


def _compared(part: int, without: Round, beside: Round) -> Measurement:
    alone, among = percentile(without.taken, part), percentile(beside.taken, part)
    return Measurement(
        f"page p{part}, with streams / without, ms", f"{among:.0f} / {alone:.0f} = {among / alone:.2f} ×", "≤ 1.5 ×"
    )


def measure(streams: int, times: int, pace: float) -> list[Measurement]:
    """A site of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream(pace=pace) as model,
        site(Path(folder), DEBUG="true") as made,
    ):
        result = made.manage("shell", "--verbosity", "0", "-c", f"STREAMS = {streams}\n{PEOPLE}{SET_UP}")
        assert result.code == 0, result.err
        chats = [f"/p/acme/apollo/chats/{line.split()[-1]}/" for line in result.out.splitlines()[1:]]
        address = f"http://127.0.0.1:{free_port()}"
        command = ("-m", "uvicorn", "config.asgi:application", "--log-level", "warning", "--port")
        server = made.start(*command, address.rpartition(":")[2], LLM_BASE_URL=model)
        wait_until(Browser(address).is_up, "up", made)
        return asyncio.run(take(address, server.pid, chats, times))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--pages", type=int, default=150, help="in each round")
    parser.add_argument("--pace", type=float, default=TOKEN_SECONDS, help="seconds between two words of an answer")
    arguments = parser.parse_args()
    show("Streams", measure(arguments.streams, arguments.pages, arguments.pace))


if __name__ == "__main__":
    main()
