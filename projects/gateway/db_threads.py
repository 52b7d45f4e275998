"""Threads with database connections for async code."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from projects.web.db_connections import kept_connection

Result = TypeVar("Result")

#: More threads would not shorten the wait for the database: Python runs one of them at a time.
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="gateway")


async def run_in_thread(work: Callable[..., Result], *args: object) -> Result:
    """Run ``work`` in a thread and return its result. Django's sync_to_async opens one for each request."""
    return await asyncio.get_running_loop().run_in_executor(_threads, copy_context().run, _with_connection, work, *args)


def _with_connection(work: Callable[..., Result], *args: object) -> Result:
    with kept_connection():
        return work(*args)
