"""Hand over what a request leaves behind to the spool: its question, its answer and the call, counts."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from weakref import WeakKeyDictionary

from django.conf import settings
from django.utils import timezone

from memorybank.services import Bank, PromptCount

from . import turn_recording
from .database.spool import Piece, Spool, SpoolFull
from .memory_injection import GatewayTurn
from .turn_recording import RecordedQuestion

logger = logging.getLogger(__name__)
SkipReason = PromptCount.Memory
_spools: WeakKeyDictionary[asyncio.AbstractEventLoop, Spool] = WeakKeyDictionary()


def spool() -> Spool:
    """The spool of this process."""
    return _spools.setdefault(asyncio.get_running_loop(), Spool(_count_failure))


def _count_failure(bank_id: int) -> None:
    turn_recording.count_prompt(Bank(pk=bank_id), SkipReason.FAILED, timezone.now())


def count(bank: Bank, reason: str, now: datetime) -> None:
    """Count a prompt that is no turn."""
    _add(bank.pk, partial(turn_recording.count_prompt, bank, reason, now))


def _add(bank_id: int, work: Callable[[], object], size: int = 0) -> Piece | None:
    try:
        return spool().add(bank_id, work, size)
    except SpoolFull:
        logger.error("gateway: the spool is full, and something of bank %s is not recorded", bank_id)
        return None


async def _wait(bank_id: int, piece: Piece) -> bool:
    """Wait a little: an answer's headers say what became of its turn, and a request may follow it at once."""
    return await spool().wait(bank_id, piece, settings.GATEWAY_MEMORY_MILLISECONDS / 1000)


class Recording:
    """The recording of one request: in the spool, in the order of the calls."""

    def __init__(self, bank_id: int, turn: GatewayTurn | None) -> None:
        self._bank_id, self._turn = bank_id, turn
        self._recorded: RecordedQuestion | None = None
        self._attempts = 0
        self._question = _add(bank_id, self._record_question, turn.size) if turn else None

    async def headers(self) -> dict[str, str]:
        """The response headers about what became of the turn."""
        if self._turn is None:
            return {}
        if self._question is None:
            return {"x-memory-turn": "skipped: full"}
        if not await _wait(self._bank_id, self._question):
            return {"x-memory-turn": "waiting"}
        if self._recorded is None:
            return {"x-memory-turn": f"skipped: {SkipReason.FAILED}"}
        return self._recorded.headers()

    async def finish(self, record: Callable[[RecordedQuestion | None], None], size: int) -> None:
        """Record the outcome after the question, and wait for it a little."""
        piece = _add(self._bank_id, lambda: record(self._recorded), size)
        if piece:
            await _wait(self._bank_id, piece)

    def _record_question(self) -> None:
        assert self._turn is not None
        self._attempts += 1
        self._recorded = turn_recording.record_question(self._turn, may_exist=self._attempts > 1)
