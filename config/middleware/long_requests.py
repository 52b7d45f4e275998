"""ASGI middleware that hands long gateway requests to a second process, so that short ones do not wait for them.

Python runs one thread of a process at a time, and a megabyte keeps it busy for tens of milliseconds. The second process
(:mod:`config.long_request_process`) runs the same handler. It starts with the first long request and ends with this
process. Until it is ready, and where it cannot be started, this process handles long requests itself.

Each request has a pair of connected sockets, which carries ASGI messages. The process gets its end of the pair through
a control socket, whose end also tells each side that the other is gone.
"""

import asyncio
import json
import logging
import pickle
import socket
import sys
import time
from asyncio.subprocess import Process
from contextlib import suppress
from typing import Any

from django.conf import settings

from config.middleware.request_limits import GATEWAY_PREFIX, Application, Message, Receive, Send
from memorybank.llm import tracing
from projects.gateway.protocols import protocol_of
from projects.gateway.recording import SHUTDOWN_SECONDS

logger = logging.getLogger(__name__)
#: The second process is not started again sooner than this after its last start.
RESTART_SECONDS = 60.0
#: What the second process sends when it is ready, and what goes beside a socket for a request.
READY, REQUEST = b"r", b"s"
#: The parts of an ASGI scope that the handler reads; they are plain values.
SCOPE_KEYS = ("type", "http_version", "method", "scheme", "path", "raw_path", "query_string", "root_path", "headers")
SCOPE_ADDRESSES = ("client", "server")
LENGTH_BYTES = 4
#: How much of a request a stream holds before its reader has taken it.
BUFFER_BYTES = 2**18
FAILED_MESSAGE = "The gateway failed. The error is in its log."


async def read_message(reader: asyncio.StreamReader) -> Any:
    """The next message of the other process. Raises :class:`EOFError` or ``ConnectionError`` if that is gone."""
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    return pickle.loads(await reader.readexactly(length))


async def write_message(writer: asyncio.StreamWriter, message: Any) -> None:
    """Send a message to the other process, and wait while too much is under way."""
    content = pickle.dumps(message, protocol=5)
    writer.write(len(content).to_bytes(LENGTH_BYTES, "big"))
    writer.write(content)
    await writer.drain()


class LongRequests:
    """Wraps an ASGI application. ``GATEWAY_LONG_KILOBYTES`` says from which declared length on a request is long."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._control: socket.socket | None = None
        self._running: asyncio.Task[None] | None = None
        self._started_at = -RESTART_SECONDS
        self._is_ready = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand a long request to the second process, and any other to the application."""
        streams = await self._connect() if _is_long(scope) else None
        if streams is None:
            await self._application(scope, receive, send)
        else:
            await _relay(scope, receive, send, *streams)

    async def shut_down(self) -> None:
        """Let the second process end, which writes what waits to be recorded; wait ``SHUTDOWN_SECONDS`` at most."""
        self._is_ready = False
        if self._running and self._control:
            self._control.shutdown(socket.SHUT_WR)
            await asyncio.wait([self._running], timeout=SHUTDOWN_SECONDS)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to the second process; None if it is not ready, and then it starts."""
        if self._control is None or not self._is_ready:
            self._start()
            return None
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [REQUEST], [theirs.fileno()])
        except OSError:  # it has just ended, or takes nothing at the moment
            ours.close()
            return None
        finally:
            theirs.close()
        ours.setblocking(False)
        return await asyncio.open_unix_connection(sock=ours, limit=BUFFER_BYTES)

    def _start(self) -> None:
        is_possible = self._running is None and hasattr(socket, "send_fds")
        if is_possible and time.monotonic() - self._started_at >= RESTART_SECONDS:
            self._started_at = time.monotonic()
            self._running = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        """Start the second process, and note when it is ready and when it has ended."""
        control, theirs = socket.socketpair()
        process: Process | None = None
        try:
            control.setblocking(False)
            with theirs:
                command = (sys.executable, "-m", "config.long_request_process")
                process = await asyncio.create_subprocess_exec(*command, stdin=theirs.fileno(), cwd=settings.BASE_DIR)
            self._control = control
            loop = asyncio.get_running_loop()
            while await loop.sock_recv(control, 1):
                self._is_ready = True
                logger.info("gateway: process %s answers long requests", process.pid)
            await process.wait()
        except OSError as error:
            logger.warning("gateway: no process for long requests: %s", type(error).__name__)
        finally:
            self._control, self._running, self._is_ready = None, None, False
            control.close()
            if process and process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()


def _is_long(scope: Message) -> bool:
    if not settings.GATEWAY_LONG_KILOBYTES or scope["type"] != "http" or not scope["path"].startswith(GATEWAY_PREFIX):
        return False
    length = next((value for name, value in scope["headers"] if name.lower() == b"content-length"), b"")
    return length.isdigit() and int(length) > settings.GATEWAY_LONG_KILOBYTES * 1000


async def _relay(
    scope: Message, receive: Receive, send: Send, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass a request to the second process, and its answer to the client."""
    carrier = dict[str, Any]()
    tracing.carry(carrier)
    sending = asyncio.ensure_future(_send_request(_plain(scope), carrier, receive, writer))
    answering = asyncio.ensure_future(_send_answer(scope, reader, send))
    try:
        await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()  # an error refuses the request; otherwise the client has left, which the process knows
            await answering
    finally:
        sending.cancel()
        answering.cancel()
        await asyncio.wait({sending, answering})
        writer.close()
    answering.result()


def _plain(scope: Message) -> Message:
    plain: Message = {name: scope[name] for name in SCOPE_KEYS if name in scope}
    addresses = {name: tuple(scope[name]) for name in SCOPE_ADDRESSES if scope.get(name)}
    return {**plain, "headers": [tuple(header) for header in scope["headers"]], **addresses}


async def _send_request(plain: Message, carrier: Message, receive: Receive, writer: asyncio.StreamWriter) -> None:
    """Send the scope, the body, and that the client has left. Returns also if the second process ends."""
    with suppress(ConnectionError):
        await write_message(writer, (plain, carrier))
        message: Message = {"type": ""}
        while message["type"] != "http.disconnect":
            message = await receive()
            await write_message(writer, message)


async def _send_answer(scope: Message, reader: asyncio.StreamReader, send: Send) -> None:
    """Send the answer, or an error in the protocol's format if the second process ends before it begins."""
    has_begun = False
    try:
        while (message := await read_message(reader)) is not None:
            await send(message)
            has_begun = True
    except (EOFError, ConnectionError):
        logger.error("gateway: the process for long requests ended before its answer")
        if has_begun:
            raise
        await _send_failure(scope, send)


async def _send_failure(scope: Message, send: Send) -> None:
    headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
    content = json.dumps(protocol_of(scope["path"], headers).problem(502, FAILED_MESSAGE)).encode()
    fields = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 502, "headers": fields})
    await send({"type": "http.response.body", "body": content})
