"""A fake upstream with the wire protocols of OpenAI and Anthropic: python -m tests.support.upstream --port 9.

Answers, delays, cut connections and errors are configurable. It counts the clients that disconnect early.
"""

import argparse
import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from .commands import PROCESS_TIMEOUT_SECONDS
from .stored_responses import StoredResponses
from .upstream_events import STREAMS, WHOLE, ModelAnswer, error_event

Body = dict[str, Any]


@dataclass
class Seen:
    """A received request."""

    path: str
    headers: dict[str, str]
    raw: bytes
    method: str = "POST"

    @cached_property
    def body(self) -> Body:
        data: Body = json.loads(self.raw) if self.raw else {}
        return data


def spoken(content: Any) -> str:
    """The text of a message's content."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content)
    return str(content or "")


def last_words(body: Body) -> str:
    """The text of the newest message, in any of the protocols."""
    messages = body.get("messages") or body.get("input") or []
    return messages if isinstance(messages, str) else spoken(messages[-1].get("content")) if messages else ""


def obedient(body: Body) -> ModelAnswer:
    """Call the first offered tool; without tools or after a tool's result, answer with text."""
    messages = body.get("messages") or body.get("input")
    after_tool = isinstance(messages, list) and _is_result(messages[-1])
    if body.get("tools") and not after_tool:
        tool = body["tools"][0]
        return ModelAnswer("", (tool.get("name") or tool["function"]["name"], '{"city": "Paris"}'))
    return ModelAnswer("The tool has spoken." if after_tool else f"You said: {last_words(body)[:200]}")


def _is_result(message: Body) -> bool:
    content = message.get("content")
    of_parts = isinstance(content, list) and any(part.get("type") == "tool_result" for part in content)
    return message.get("role") == "tool" or message.get("type") == "function_call_output" or of_parts


@dataclass
class LocalUpstream:
    """Listens on 127.0.0.1. All attributes except ``port`` may change at any time."""

    port: int = 0
    answer: Callable[[Body], ModelAnswer] = obedient
    status: int = 200
    delay: float = 0.0  # seconds before the first byte
    pace: float = 0.0  # seconds between events
    break_after: int = 0  # number of events after which the connection is cut; 0 for never
    usage: bool = True
    headers: dict[str, str] = field(default_factory=dict)  # sent with every answer
    error: str = "The upstream refuses."
    in_place: bytes = b""  # sent in place of every answer, with status 200
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=1000))
    stored: StoredResponses = field(default_factory=StoredResponses)
    gone: int = 0  # number of clients that disconnected before their answer was complete

    @property
    def base_url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base URL for Anthropic clients."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[ready], daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self.serve())
        ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(_ended(server))
        self._loop.close()

    async def serve(self) -> asyncio.Server:
        """Start to listen, and set ``port`` to the actual port."""
        server = await asyncio.start_server(self._client, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun = b""
        try:
            while seen := await _request(reader, begun):
                self.seen.append(seen)
                begun = await self._answer(seen, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Answer, and return the first byte of the next request if that came at once."""
        leaving = asyncio.ensure_future(reader.read(1))  # clients send no second request before the answer
        answering = asyncio.ensure_future(self._send(seen, writer))
        done, _ = await asyncio.wait({leaving, answering}, return_when=asyncio.FIRST_COMPLETED)
        if answering not in done:
            answering.cancel()
            self.gone += 1
            raise ConnectionError
        leaving.cancel()
        await asyncio.wait({leaving})
        await answering
        return b"" if leaving.cancelled() else leaving.result()

    async def _send(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        path = seen.path.partition("?")[0]
        if self.status != 200:
            self._write(writer, self.status, {"error": {"type": "test_error", "message": self.error, "code": "x1"}})
        elif self.in_place:
            self._write(writer, 200, self.in_place)
        elif known := self.stored.answer(seen.method, path, seen.raw):
            self._write(writer, *known)
        elif path in STREAMS and seen.body.get("stream"):
            await self._stream(path, seen.body, writer)
        elif path == "/v1/responses":
            self._write(writer, 200, self._respond(seen.body, self.answer(seen.body), self.stored.number()))
        elif path in WHOLE:
            self._write(
                writer, 200, WHOLE[path](seen.body, self.answer(seen.body) if path in STREAMS else ModelAnswer(""))
            )
        else:
            self._write(writer, 404, {"error": {"type": "not_found", "message": f"no {path}"}})
        await writer.drain()

    def _respond(self, body: Body, said: ModelAnswer, number: int) -> Body:
        """A response with an id of its own, stored unless the client wants otherwise."""
        response: Body = json.loads(self.stored.named(json.dumps(WHOLE["/v1/responses"](body, said)).encode(), number))
        if body.get("store") is not False:
            self.stored.keep(body, response)
        return {**response, "status": "queued", "output": []} if body.get("background") else response

    async def _stream(self, path: str, body: Body, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **self.headers}))
        answer = self.answer(body)
        events: Iterator[bytes] = STREAMS[path](body, answer, self.usage)
        if path == "/v1/responses":
            own = self.stored.number()
            self._respond(body, answer, own)
            events = (self.stored.named(event, own) for event in events)
        if answer.error:  # replaces the last two events
            events = iter([*list(events)[:-2], error_event(path, answer.error)])
        for number, event in enumerate(events, start=1):
            cut = self.break_after and number > self.break_after
            event = event[: len(event) // 2] if cut else event
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            if cut:
                raise ConnectionError
            if self.pace:
                await asyncio.sleep(self.pace)
        writer.write(b"0\r\n\r\n")

    def _write(self, writer: asyncio.StreamWriter, status: int, data: Body | bytes) -> None:
        content = data if isinstance(data, bytes) else json.dumps(data).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **self.headers}
        writer.write(_head(status, headers) + content)


async def _ended(server: asyncio.Server) -> None:
    """Stop the server and close every connection, so that no socket is left to the garbage collector."""
    server.close()
    while clients := asyncio.all_tasks() - {asyncio.current_task()}:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    await asyncio.sleep(0)  # transports close their sockets one iteration of the event loop later
    await asyncio.sleep(0)


async def _request(reader: asyncio.StreamReader, begun: bytes = b"") -> Seen | None:
    head = begun + await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin1").splitlines()
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    raw = await reader.readexactly(int(headers.get("content-length") or 0))
    method, path, *_ = first.split()
    return Seen(path, headers, raw, method)


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Poll a hundred times a second; fail after PATIENCE seconds."""
    deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not {what}"
        time.sleep(0.01)


async def _forever(upstream: LocalUpstream) -> None:
    upstream.seen = deque(maxlen=0)  # nobody in this process looks at them, and a thousand long ones fill the memory
    await upstream.serve()
    sys.stdout.write(f"{upstream.base_url}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--words", type=int, default=0)
    given = parser.parse_args()
    options = {"answer": lambda body: ModelAnswer("word " * given.words)} if given.words else {}
    asyncio.run(_forever(LocalUpstream(port=given.port, delay=given.delay, pace=given.pace, **options)))
