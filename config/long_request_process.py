"""The second process of a web server: it answers the gateway's long requests. Started by :mod:`long_requests`."""

import asyncio
import logging
import os
import signal
import socket
from contextlib import suppress
from typing import Any

from config.asgi import start_up
from config.handler import Handler
from config.middleware.long_requests import BUFFER_BYTES, READY, read_message, write_message
from config.middleware.request_limits import Message
from memorybank.llm import tracing
from projects.gateway import recording

logger = logging.getLogger("config.long_request_process")  # it runs as __main__
#: Its standard input is the control socket.
CONTROL_DESCRIPTOR = 0
#: The scheduler prefers other processes by so many steps, because short requests are answered there.
NICENESS = 5
#: How long requests may take to end when the web server is gone, of what recording has for it.
GRACE_SECONDS = 2.0

handler = Handler()


async def _serve(connection: socket.socket) -> None:
    """Answer the request of a connection."""
    connection.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=BUFFER_BYTES)

    async def receive() -> Message:
        try:
            message: Message = await read_message(reader)
        except (EOFError, ConnectionError):
            return {"type": "http.disconnect"}
        return message

    async def send(message: Any) -> None:
        await write_message(writer, message)

    try:
        scope, carrier = await read_message(reader)
        with tracing.span(scope["method"], carrier=carrier):
            await handler(scope, receive, send)
        await write_message(writer, None)
    except (EOFError, ConnectionError):
        pass  # the web server is gone, or its client
    except Exception as error:
        logger.error("gateway: a long request failed: %s", type(error).__name__)
    finally:
        writer.close()


async def _main() -> None:
    with suppress(OSError):  # where the system does not allow it
        os.nice(NICENESS)
    loop, control, requests = asyncio.get_running_loop(), socket.socket(fileno=CONTROL_DESCRIPTOR), set[Any]()
    control.setblocking(False)
    ended = asyncio.Event()

    def accept() -> None:
        with suppress(BlockingIOError):
            content, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            for descriptor in descriptors:
                request = asyncio.ensure_future(_serve(socket.socket(fileno=descriptor)))
                requests.add(request)
                request.add_done_callback(requests.discard)
            if not content:
                loop.remove_reader(control)
                ended.set()

    await start_up()
    loop.add_reader(control, accept)
    await loop.sock_sendall(control, READY)
    await ended.wait()
    if requests:
        await asyncio.wait(requests, timeout=GRACE_SECONDS)
    await recording.shut_down(recording.SHUTDOWN_SECONDS - GRACE_SECONDS)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it ends when the web server does
    try:
        import uvloop
    except ImportError:
        asyncio.run(_main())
    else:
        uvloop.run(_main())
