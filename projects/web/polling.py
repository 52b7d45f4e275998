"""Poll for changes at intervals, with heartbeats during silence."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

Item = TypeVar("Item")
Beat = TypeVar("Beat")


def wait_while(condition: Callable[[], object], *, seconds: float, timeout: float = float("inf")) -> bool:
    """Poll every ``seconds`` until the condition is false or the timeout has passed; returns whether it waited."""
    deadline, waited = time.monotonic() + timeout, False
    while time.monotonic() < deadline and condition():
        waited = True
        time.sleep(seconds)
    return waited


async def changes(look: Callable[[], Item | None], *, seconds: float) -> AsyncGenerator[Item, None]:
    """Yield the result of ``look`` whenever it changes, until it is None. ``look`` may use the database."""
    before: Any = None
    while (now := await sync_to_async(look)()) is not None:
        if now != before:
            yield now
        before = now
        await asyncio.sleep(seconds)


async def with_heartbeat(
    items: AsyncGenerator[Item, None], *, seconds: float, beat: Beat
) -> AsyncGenerator[Item | Beat, None]:
    """Yield the items, and ``beat`` after each silence of ``seconds``: proxies close silent streams."""
    end = object()
    async with aclosing(items):
        while True:
            next_item = asyncio.ensure_future(anext(items, end))
            try:
                while not (await asyncio.wait({next_item}, timeout=seconds))[0]:
                    yield beat
            except BaseException:
                next_item.cancel()
                await asyncio.wait({next_item})  # a running generator cannot be closed
                raise
            if (item := next_item.result()) is end:
                return
            yield item  # type: ignore[misc]  # not the end, so an item
