"""Put the records of a request into the spool: its question, its answer, the call, and counts."""

import asyncio
import logging
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import uuid4
from weakref import WeakKeyDictionary

from django.conf import settings
from django.utils import timezone

from memorybank.services import Bank, PromptCount

from ..models import APIKey
from . import turn_recording
from .call_recording import Call
from .conversations.turn import GatewayTurn
from .database import upstream_objects
from .database.spool import Piece, Spool, SpoolFull, Work
from .turn_recording import RecordedQuestion

logger = logging.getLogger(__name__)
SkipReason = PromptCount.Memory
#: A turn of more characters, with its history, is written by itself: a megabyte takes ten times longer than a few.
LONG_CHARACTERS = 2**17
#: How long a stopping server tries to write its spool before it saves the rest in a file for the next server.
SHUTDOWN_SECONDS = 10.0
_spools: WeakKeyDictionary[asyncio.AbstractEventLoop, Spool] = WeakKeyDictionary()


def spool() -> Spool:
    """The spool of this process."""
    return _spools.setdefault(asyncio.get_running_loop(), Spool(_count_failures))


def _count_failures(bank_id: int, number: int) -> None:
    turn_recording.count_prompt(Bank(pk=bank_id), SkipReason.FAILED, timezone.now(), number)


def count(bank: Bank, reason: str, now: datetime) -> None:
    """Count a prompt that is not a turn, by its ``reason``."""
    _add(bank.pk, partial(_count, bank, reason, now))


def _count(bank: Bank, reason: str, now: datetime, again: bool) -> None:
    turn_recording.count_prompt(bank, reason, now)


def _add(bank_id: int, work: Work, size: int = 0, *, again: bool = False, is_long: bool = False) -> Piece | None:
    try:
        return spool().add(bank_id, work, size, again=again, is_long=is_long)
    except SpoolFull:
        logger.error("gateway: the spool is full, and something of bank %s is not recorded", bank_id)
        return None


async def _wait(bank_id: int, piece: Piece) -> bool:
    """Wait at most ``GATEWAY_MEMORY_MILLISECONDS`` for a piece; return whether it is done.

    The response's headers report whether the turn was recorded, and the next request may come at once.
    """
    return await spool().wait(bank_id, piece, settings.GATEWAY_MEMORY_MILLISECONDS / 1000)


@dataclass(slots=True)
class _Records:
    """The state that a request's two pieces share: the second needs the question that the first has recorded."""

    key: APIKey
    turn: GatewayTurn | None
    question: RecordedQuestion | None = None
    call: Call | None = None

    def record_question(self, again: bool) -> None:
        assert self.turn
        self.question = turn_recording.record_question(self.turn, may_exist=again)

    def bind(self, address: str, ids: list[str], again: bool) -> None:
        output = self.question.output if self.question else None
        name, is_private = (self.turn.sender.person, self.turn.memory.is_private) if self.turn else ("", False)
        upstream_objects.bind(self.key, address, ids, output, name=name, is_private=is_private)

    def record_call(self, again: bool) -> None:
        assert self.call
        self.call.record(self.question, may_exist=again)


class Recording:
    """Puts the records of one request into the spool: the question at once, the outcome with :meth:`finish`.

    ``address`` is the upstream's.
    """

    def __init__(self, key: APIKey, address: str, turn: GatewayTurn | None) -> None:
        bank_id = key.project.bank_id
        self._bank_id, self._address, self._records = bank_id, address, _Records(key, turn)
        self._bound, size = set[str](), turn.size if turn else 0
        self._is_long = size > LONG_CHARACTERS
        self._question = self._add(self._records.record_question, size) if turn else None
        if turn and self._question is None:
            spool().count_refused(bank_id)

    async def headers(self) -> dict[str, str]:
        """The response headers that report whether the turn was recorded."""
        if self._records.turn is None:
            return {}
        if self._question is None:
            return {"x-memory-turn": "skipped: full"}
        if not await _wait(self._bank_id, self._question):
            return {"x-memory-turn": "waiting"}
        if self._records.question is None:
            return {"x-memory-turn": f"skipped: {SkipReason.FAILED}"}
        return self._records.question.headers()

    def bind(self, ids: list[str]) -> None:
        """Record that the upstream stores something of this project under these ids, unless that is recorded."""
        if new := [object_id for object_id in ids if object_id not in self._bound]:
            self._bound.update(new)
            upstream_objects.expect(self._records.key.pk, self._address, new)
            self._add(partial(self._records.bind, self._address, new))

    async def finish(self, call: Call) -> None:
        """Record the outcome after the question, and wait briefly until it is written."""
        self._records.call = call
        if piece := self._add(self._records.record_call, len(call.answer.text)):
            await _wait(self._bank_id, piece)

    def _add(self, work: Work, size: int = 0) -> Piece | None:
        return _add(self._bank_id, work, size, is_long=self._is_long)


async def shut_down() -> None:
    """Write the spool within ``SHUTDOWN_SECONDS``; save the pieces that could not be written in a file."""
    left = await spool().drain(SHUTDOWN_SECONDS)
    if left:
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{uuid4().hex}.waiting").write_bytes(pickle.dumps(left))
        logger.warning("gateway: %s pieces wait in a file to be recorded", len(left))


def resume() -> None:
    """Put the pieces that a stopped server saved in a file into the spool."""
    for bank_id, work, size in _left():
        _add(bank_id, work, size, again=True)


def _left() -> Iterator[tuple[int, Work, int]]:
    for path in sorted(_folder().glob("*.waiting")):
        taken = path.with_suffix(".taken")
        with suppress(FileNotFoundError):  # another process was first
            path.rename(taken)
            yield from pickle.loads(taken.read_bytes())
            taken.unlink()


def _folder() -> Path:
    """The folder for saved pieces; only the site's user can read it, like all of ``DATA_DIR``."""
    return Path(settings.DATA_DIR) / "gateway-spool"
