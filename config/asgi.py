"""The ASGI entry point: `uvicorn config.asgi:application`."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import django

from config.startup_checks import refuse_without_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
refuse_without_key()
django.setup(set_prefix=False)

from django.conf import settings  # noqa: E402  (Django must be set up)
from django.db import DatabaseError, connections  # noqa: E402

from config.handler import Handler  # noqa: E402
from config.middleware.cors import Cors  # noqa: E402
from config.middleware.request_limits import RequestLimits  # noqa: E402
from config.middleware.tracing import Tracing  # noqa: E402
from projects.chat import generation  # noqa: E402
from projects.gateway import memory_injection, recording  # noqa: E402
from projects.gateway.database.threads import readers  # noqa: E402
from projects.importing import demo  # noqa: E402
from projects.management.migrated import why_not_migrated  # noqa: E402

pages = Tracing(Cors(RequestLimits(Handler())))

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
#: How long generations without a connected client may continue at shutdown. The server has waited for the others.
GENERATION_GRACE_SECONDS = 10.0
#: How long startup waits for the warm-up. After that, the server starts even if the database does not answer.
WARM_UP_SECONDS = 5.0


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Serve the site; at shutdown, end all generations, so that no message stays marked as being answered."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await pages(scope, receive, send)


def _why_not_to_serve() -> str:
    """See :func:`why_not_migrated` and :func:`demo.why_not_to_serve`. The demo itself has DEBUG on.

    A database that does not answer is no reason.
    """
    try:
        return why_not_migrated() or ("" if settings.DEBUG else demo.why_not_to_serve())
    except DatabaseError:
        return ""
    finally:
        connections.close_all()


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event_type = (await receive())["type"]
        if event_type == "lifespan.startup":
            if why := await asyncio.to_thread(_why_not_to_serve):
                await send({"type": "lifespan.startup.failed", "message": why})
                return
            recording.resume()
            with suppress(TimeoutError):
                await readers.run_within(WARM_UP_SECONDS, memory_injection.warm_up)
            gc.freeze()  # collections skip what startup has loaded, which took 5 % of each request
        else:
            await asyncio.gather(
                asyncio.to_thread(generation.shut_down, GENERATION_GRACE_SECONDS), recording.shut_down()
            )
        await send({"type": f"{event_type}.complete"})
        if event_type == "lifespan.shutdown":
            return
