"""The way from async code to the database: a few threads that keep their connections."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from projects.web.db_connections import kept

Result = TypeVar("Result")

#: Requests wait for the database no longer in more threads: Python runs one of them at a time.
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="gateway")


async def hop(work: Callable[..., Result], *args: object) -> Result:
    """What ``work`` returns, run in a thread. Django's own way makes a thread, and a connection, for each request."""
    return await asyncio.get_running_loop().run_in_executor(_threads, copy_context().run, _connected, work, *args)


def _connected(work: Callable[..., Result], *args: object) -> Result:
    with kept():
        return work(*args)
