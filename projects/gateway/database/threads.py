"""Threads with database connections for async code: waiting for the database never takes longer than allowed."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from memorybank.exceptions import log_message
from projects.web.db_connections import kept_connection

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class Threads:
    """A thread pool of fixed size; Django's ``sync_to_async`` would open a thread for each request."""

    def __init__(self, name: str, number: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=number, thread_name_prefix=f"gateway-{name}")
        self._number = number
        #: Jobs that exceeded their time and are still running.
        self._overdue: set[Future[object]] = set()

    async def run(self, work: Callable[..., Result], *args: object) -> Result:
        """Run ``work`` in a thread and return its result."""
        return await asyncio.wrap_future(self._submit(work, *args))

    async def run_within(self, seconds: float, work: Callable[..., Result], *args: object) -> Result:
        """Like :meth:`run`, but raise :class:`TimeoutError` after ``seconds``.

        It is raised at once while half of the threads have overdue jobs: the database does not answer, and the other
        threads must stay free.
        """
        if seconds <= 0 or len(self._overdue) * 2 >= self._number:
            raise TimeoutError
        job = self._submit(work, *args)
        result = asyncio.wrap_future(job)
        result.add_done_callback(_retrieve)
        if (await asyncio.wait({result}, timeout=seconds))[0]:
            return result.result()
        if not job.cancel():
            self._overdue.add(job)  # type: ignore[arg-type]
            job.add_done_callback(self._overdue.discard)
        raise TimeoutError

    def start(self, work: Callable[..., object], *args: object) -> None:
        """Run ``work`` in a thread without waiting for it; its failure is logged."""
        self._submit(work, *args).add_done_callback(_log_failure)

    def _submit(self, work: Callable[..., Result], *args: object) -> Future[Result]:
        return self._executor.submit(copy_context().run, _with_connection, work, *args)


def _retrieve(result: asyncio.Future[Result]) -> None:
    """Retrieve the exception of an abandoned job; otherwise asyncio would log it, with text of the request."""
    if not result.cancelled():
        result.exception()


def _log_failure(job: Future[object]) -> None:
    error = job.exception()
    if isinstance(error, Exception):
        logger.warning("gateway: left undone: %s", log_message(error))


def _with_connection(work: Callable[..., Result], *args: object) -> Result:
    with kept_connection():
        return work(*args)


#: For reads that a request waits for. More threads would not help, because Python runs one of them at a time.
readers = Threads("read", 8)
#: For recording.
writers = Threads("write", 4)
