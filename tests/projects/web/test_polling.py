"""Polling: the yielded values, and that it stops when nobody listens."""

import asyncio
from collections.abc import AsyncGenerator

from projects.web.polling import changes, wait_while, with_heartbeat


def test_it_waits_only_while_there_is_something_to_wait_for() -> None:
    looks = iter([True, True, False])
    assert wait_while(lambda: next(looks), seconds=0)
    assert not wait_while(lambda: False, seconds=60)
    assert wait_while(lambda: True, seconds=0.001, timeout=0.002)


def test_each_value_comes_once_until_there_is_none() -> None:
    looks = iter(["", "a", "a", "ab", None, "never"])

    async def seen() -> list[str]:
        return [value async for value in changes(lambda: next(looks), seconds=0)]

    assert asyncio.run(seen()) == ["", "a", "ab"]


def test_a_listener_that_leaves_closes_the_source_during_silence_and_after_an_item() -> None:
    closed = []

    async def source(silent: bool) -> AsyncGenerator[int, None]:
        try:
            yield 1
            if silent:
                await asyncio.Event().wait()
            yield 2
        finally:
            closed.append(silent)

    async def leave(silent: bool) -> None:
        stream = with_heartbeat(source(silent), seconds=0.001, beat=None)
        assert await anext(stream) == 1
        assert await anext(stream) == (None if silent else 2)
        await stream.aclose()

    for silent in (True, False):
        asyncio.run(leave(silent))
    assert closed == [True, False]
