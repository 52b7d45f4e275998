"""The ASGI entry point: `uvicorn config.asgi:application`."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import django

from config.startup_checks import refuse_without_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
refuse_without_key()
django.setup(set_prefix=False)

from django.core.handlers.asgi import ASGIHandler  # noqa: E402  (Django must be set up)

from projects.chat import generation  # noqa: E402

pages = ASGIHandler()

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
#: Seconds for which answers that nobody listens to may go on when the server ends; it has waited for the others.
GRACE_SECONDS = 10.0


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Django's pages; and when the server ends, no message is left as if somebody were still answering it."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    else:
        await pages(scope, receive, send)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        happens = (await receive())["type"]
        if happens == "lifespan.shutdown":
            await asyncio.to_thread(generation.shut_down, GRACE_SECONDS)
        await send({"type": f"{happens}.complete"})
        if happens == "lifespan.shutdown":
            return
