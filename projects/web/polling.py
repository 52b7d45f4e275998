"""Waiting for something to change: looking again at intervals, and showing during silence that the wait goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

Item = TypeVar("Item")
Beat = TypeVar("Beat")


def wait_while(condition: Callable[[], object], *, seconds: float, timeout: float = float("inf")) -> bool:
    """Look every ``seconds`` until the condition is false or the timeout has passed; whether there was a wait."""
    deadline, waited = time.monotonic() + timeout, False
    while time.monotonic() < deadline and condition():
        waited = True
        time.sleep(seconds)
    return waited


async def changes(look: Callable[[], Item | None], *, seconds: float) -> AsyncGenerator[Item, None]:
    """What ``look`` returns, each time that has changed, until it returns None. It may use the database."""
    before: Any = None
    while (now := await sync_to_async(look)()) is not None:
        if now != before:
            yield now
        before = now
        await asyncio.sleep(seconds)


async def with_heartbeat(
    items: AsyncGenerator[Item, None], *, seconds: float, beat: Beat
) -> AsyncGenerator[Item | Beat, None]:
    """The items as they come, and ``beat`` after each silence of ``seconds``: proxies close a silent stream."""
    end = object()
    async with aclosing(items):
        while True:
            coming = asyncio.ensure_future(anext(items, end))
            try:
                while not (await asyncio.wait({coming}, timeout=seconds))[0]:
                    yield beat
            except BaseException:
                coming.cancel()
                await asyncio.wait({coming})  # a generator that still runs cannot be closed
                raise
            if (item := coming.result()) is end:
                return
            yield item  # type: ignore[misc]  # not the end, so an item
