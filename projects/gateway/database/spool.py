"""Record beside the requests: in order for each bank, once, and again until the database answers.

The spool is in the memory of its process, bounded by number and size. While the database is well, a piece waits for
milliseconds; what waits together is written in one transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, transaction

from memorybank import services
from memorybank.exceptions import log_message

from .threads import writers

logger = logging.getLogger(__name__)
#: What the spool of a process holds at most, beside ``GATEWAY_SPOOL_MEGABYTES``.
MAX_PIECES = 20_000
#: What one transaction writes at most: it holds the bank's lock.
MAX_TOGETHER = 16
#: Pauses after the database failed, in seconds; the last is repeated.
PAUSES = (0.1, 0.3, 1.0, 2.0)
#: After so many failures of a piece alone, it is at fault if the database writes something else.
MAX_ATTEMPTS = 5


#: What the database refuses because of its content.
OF_ONE_PIECE = (DataError, IntegrityError)


Work = Callable[[bool], object]


class SpoolFull(Exception):
    """Nothing more is taken: the database has not answered for too long."""


@dataclass(slots=True, eq=False)
class Piece:
    """Something to write. ``done`` is set when it was written or given up; ``size`` is in bytes.

    ``work`` is told whether this is not its first attempt: it may have been written although that seemed to fail.
    """

    work: Work
    size: int = 0
    again: bool = False
    failures: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Spool:
    """What waits to be recorded, by bank. ``count_failure`` writes that something of a bank was not recorded."""

    def __init__(self, count_failure: Callable[[int], object]) -> None:
        self._waiting: dict[int, deque[Piece]] = defaultdict(deque)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._failing: set[int] = set()
        self._count_failure, self._pieces, self._bytes = count_failure, 0, 0

    def add(self, bank_id: int, work: Work, size: int = 0, *, again: bool = False) -> Piece:
        """Have ``work`` done after all that waits for this bank. Raises :class:`SpoolFull`."""
        if self._pieces >= MAX_PIECES or self._bytes + size > settings.GATEWAY_SPOOL_MEGABYTES * 1_000_000:
            raise SpoolFull
        piece = Piece(work, size, again)
        self._pieces, self._bytes = self._pieces + 1, self._bytes + size
        self._waiting[bank_id].append(piece)
        if bank_id not in self._tasks:
            self._tasks[bank_id] = asyncio.ensure_future(self._write(bank_id))
        return piece

    async def wait(self, bank_id: int, piece: Piece, seconds: float) -> bool:
        """Wait until the piece is done, at most ``seconds``, and not at all while the database fails; whether it is."""
        if not piece.done.is_set() and bank_id not in self._failing:
            try:
                await asyncio.wait_for(piece.done.wait(), seconds)
            except TimeoutError:
                self._failing.add(bank_id)
        return piece.done.is_set()

    async def drain(self, seconds: float) -> list[tuple[int, Work, int]]:
        """Wait until everything is written, at most ``seconds``; return what is not, and write no more of it."""
        if tasks := list(self._tasks.values()):
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        return [(bank_id, piece.work, piece.size) for bank_id, left in self._waiting.items() for piece in left]

    async def _write(self, bank_id: int) -> None:
        waiting = self._waiting[bank_id]
        pauses, together = 0, MAX_TOGETHER
        while waiting:
            pieces = list(waiting)[:together]
            try:
                await writers.run(self._write_together, bank_id, pieces)
            except Exception as error:
                logger.warning("gateway: bank %s waits to be written: %s", bank_id, log_message(error))
                self._failing.add(bank_id)
                for piece in pieces:
                    piece.again = True
                if together > 1:
                    together = 1
                elif await self._is_at_fault(bank_id, pieces[0]):
                    self._remove(waiting, pieces)
                    continue
                await asyncio.sleep(PAUSES[min(pauses, len(PAUSES) - 1)])
                pauses += 1
                continue
            self._remove(waiting, pieces)
            self._failing.discard(bank_id)
            pauses, together = 0, MAX_TOGETHER
        del self._tasks[bank_id], self._waiting[bank_id]

    def _remove(self, waiting: deque[Piece], pieces: list[Piece]) -> None:
        for piece in pieces:
            waiting.popleft()
            self._pieces, self._bytes = self._pieces - 1, self._bytes - piece.size
            piece.done.set()

    async def _is_at_fault(self, bank_id: int, piece: Piece) -> bool:
        """Whether a piece fails again and again although the database writes."""
        piece.failures += 1
        if piece.failures < MAX_ATTEMPTS:
            return False
        try:
            await writers.run(self._count_failure, bank_id)
        except DatabaseError:
            piece.failures = 0
            return False
        logger.error("gateway: a piece of bank %s was given up", bank_id)
        return True

    def _write_together(self, bank_id: int, pieces: list[Piece]) -> None:
        """All of them in one transaction; one that fails for a reason of its own is counted and stops no other."""
        with services.inside(bank_id), transaction.atomic():
            for piece in pieces:
                try:
                    with transaction.atomic():
                        piece.work(piece.again)
                except Exception as error:
                    if isinstance(error, DatabaseError | InterfaceError) and not isinstance(error, OF_ONE_PIECE):
                        raise
                    logger.error("gateway: not recorded: %s", log_message(error))
                    self._count_failure(bank_id)
