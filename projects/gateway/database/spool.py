"""A write-behind queue: it writes each record once, in order for each bank, and retries until the database answers.

The spool is in the memory of its process, bounded by number and size, and writes in the background. While the database
works, a piece waits for milliseconds; pieces that wait together are written in one transaction. Short pieces overtake
long ones, unless a request has already been answered without waiting for its pieces: the next of its chat may follow.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, transaction

from memorybank import services
from memorybank.exceptions import log_message

from .threads import writers

logger = logging.getLogger(__name__)
#: The maximum of pieces in the spool of a process, in addition to ``GATEWAY_SPOOL_MEGABYTES``.
MAX_SPOOLED_ITEMS = 20_000
#: The maximum of pieces in one transaction, because it holds the bank's lock.
MAX_ITEMS_PER_TRANSACTION = 16
#: Pauses after the database failed, in seconds; the last is repeated.
WRITE_RETRY_SECONDS = (0.1, 0.3, 1.0, 2.0)
#: A piece that failed this often in a transaction of its own is given up if the database can write something else.
MAX_ATTEMPTS = 5


#: Errors that are caused by the content of a piece, and not by the state of the database.
OF_ONE_PIECE = (DataError, IntegrityError)


Work = Callable[[bool], object]


class SpoolFull(Exception):
    """The spool accepts nothing more, because the database has not answered for too long."""


@dataclass(slots=True, eq=False)
class Piece:
    """A pending write. ``done`` is set when it was written or given up; ``size`` is in bytes.

    ``work`` is called with True for a retry, because an earlier attempt may have been written although it seemed to
    fail.
    """

    work: Work
    size: int = 0
    again: bool = False
    is_long: bool = False
    failures: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class _Waiting:
    """The pending pieces of a bank, in the order of their arrival."""

    def __init__(self) -> None:
        self.pieces: deque[Piece] = deque()
        #: Whether no piece may overtake another.
        self.in_order = False
        self._was_long = False

    def next(self, limit: int) -> list[Piece]:
        """At most ``limit`` pieces for the next transaction; they stay until they are removed.

        Short pieces and a long one take turns, so that neither wait for all of the others.
        """
        if self.in_order:
            return list(islice(self.pieces, limit))
        short = [piece for piece in self.pieces if not piece.is_long][:limit]
        long = [piece for piece in self.pieces if piece.is_long]
        if short and (self._was_long or not long):
            return short
        return long[:1]

    def remove(self, pieces: Sequence[Piece]) -> None:
        """Remove pieces that :meth:`next` returned."""
        for piece in pieces:
            self.pieces.remove(piece)
            self._was_long = piece.is_long


class Spool:
    """The pending writes of each bank. ``count_failures`` records how many turns of a bank were given up."""

    def __init__(self, count_failures: Callable[[int, int], object]) -> None:
        self._waiting: dict[int, _Waiting] = defaultdict(_Waiting)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._failing: set[int] = set()
        #: The turns of each bank that were refused since its last write.
        self._refused: Counter[int] = Counter()
        self._count_failures, self._pieces, self._bytes = count_failures, 0, 0

    def add(self, bank_id: int, work: Work, size: int = 0, *, again: bool = False, is_long: bool = False) -> Piece:
        """Queue ``work`` behind the pending writes of this bank. Raises :class:`SpoolFull`.

        Short pieces may overtake one that ``is_long``. All pieces of a request are equally long.
        """
        if self._pieces >= MAX_SPOOLED_ITEMS or self._bytes + size > settings.GATEWAY_SPOOL_MEGABYTES * 1_000_000:
            raise SpoolFull
        piece = Piece(work, size, again, is_long)
        self._pieces, self._bytes = self._pieces + 1, self._bytes + size
        self._waiting[bank_id].pieces.append(piece)
        if bank_id not in self._tasks:
            self._tasks[bank_id] = asyncio.ensure_future(self._write(bank_id))
        return piece

    def count_refused(self, bank_id: int) -> None:
        """Count a turn that was refused; the count is written when the database writes again."""
        self._refused[bank_id] += 1

    async def wait(self, bank_id: int, piece: Piece, seconds: float) -> bool:
        """Wait at most ``seconds`` for the piece, not at all while the database fails; return whether it is done."""
        if not piece.done.is_set() and bank_id not in self._failing:
            try:
                await asyncio.wait_for(piece.done.wait(), seconds)
            except TimeoutError:
                self._failing.add(bank_id)
        if not piece.done.is_set():
            self._waiting[bank_id].in_order = True
        return piece.done.is_set()

    async def drain(self, seconds: float) -> list[tuple[int, Work, int]]:
        """Wait at most ``seconds`` until everything is written; stop writing and return the rest."""
        if tasks := list(self._tasks.values()):
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        return [(bank_id, piece.work, piece.size) for bank_id, left in self._waiting.items() for piece in left.pieces]

    async def _write(self, bank_id: int) -> None:
        waiting = self._waiting[bank_id]
        pauses, together = 0, MAX_ITEMS_PER_TRANSACTION
        while pieces := waiting.next(together):
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
                await asyncio.sleep(WRITE_RETRY_SECONDS[min(pauses, len(WRITE_RETRY_SECONDS) - 1)])
                pauses += 1
                continue
            self._remove(waiting, pieces)
            self._failing.discard(bank_id)
            pauses, together = 0, MAX_ITEMS_PER_TRANSACTION
        del self._tasks[bank_id], self._waiting[bank_id]

    def _remove(self, waiting: _Waiting, pieces: list[Piece]) -> None:
        waiting.remove(pieces)
        for piece in pieces:
            self._pieces, self._bytes = self._pieces - 1, self._bytes - piece.size
            piece.done.set()

    async def _is_at_fault(self, bank_id: int, piece: Piece) -> bool:
        """Whether a piece fails repeatedly although the database works."""
        piece.failures += 1
        if piece.failures < MAX_ATTEMPTS:
            return False
        try:
            await writers.run(self._count_failures, bank_id, 1)
        except DatabaseError:
            piece.failures = 0
            return False
        logger.error("gateway: a piece of bank %s was given up", bank_id)
        return True

    def _write_together(self, bank_id: int, pieces: list[Piece]) -> None:
        """Write the pieces in one transaction."""
        refused = self._refused[bank_id]
        with services.banks_entered(bank_id), transaction.atomic(), services.joined_writes():
            for piece in pieces:
                self._write_piece(bank_id, piece)
            if refused:
                self._count_failures(bank_id, refused)
        self._refused[bank_id] -= refused

    def _write_piece(self, bank_id: int, piece: Piece) -> None:
        """Write a piece. One that fails because of its content is counted as failed and does not stop the others."""
        try:
            with transaction.atomic():
                piece.work(piece.again)
        except Exception as error:
            if isinstance(error, DatabaseError | InterfaceError) and not isinstance(error, OF_ONE_PIECE):
                raise
            logger.error("gateway: not recorded: %s", log_message(error))
            self._count_failures(bank_id, 1)
