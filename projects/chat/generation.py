"""Answers that this process writes: each in a thread of its own, whoever listens, goes away or comes back.

One more thread keeps in the database, twice a second, how far they are: for pages that another process serves, and to
learn there that somebody wants one stopped, or has erased what it answers.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from threading import Event, Lock, Thread
from time import monotonic

from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import get_language, override

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, unexpected
from memorybank.models import Output
from projects.models import Draft
from projects.web.db_connections import give_back

from . import service
from .model_call import Stopped
from .service import Asked

logger = logging.getLogger(__name__)

#: Seconds between two looks of the keeper.
EVERY = 0.5
#: An answer that has not grown for so long is said to be under way all the same.
SIGN_OF_LIFE = timedelta(seconds=3)


class Making:
    """One answer under way. ``text`` is what there is of it."""

    def __init__(self, asked: Asked) -> None:
        self.asked, self.text = asked, ""
        self.over = Event()
        self.saved: tuple[int, datetime] = (0, timezone.now())
        self._stopped = False
        self._lock = Lock()
        self._listeners: set[Callable[[], None]] = set()

    def hear(self, piece: str) -> None:
        """One more piece; :class:`Stopped` if there is to be no more."""
        with self._lock:
            if self._stopped:
                raise Stopped
            self.text += piece
        self._tell()

    def stop(self) -> None:
        """From now on the text is what it is."""
        with self._lock:
            self._stopped = True

    def end(self) -> None:
        """What became of it is in the database."""
        self.over.set()
        self._tell()

    def listen(self, tell: Callable[[], None]) -> None:
        """``tell`` is called, from any thread, whenever there is more, until :meth:`ignore`."""
        self._listeners.add(tell)

    def ignore(self, tell: Callable[[], None]) -> None:
        """See :meth:`listen`."""
        self._listeners.discard(tell)

    def _tell(self) -> None:
        for tell in tuple(self._listeners):
            with suppress(RuntimeError):  # its loop has been closed
                tell()


_running: dict[int, Making] = {}
_keeper: Thread | None = None
_lock = Lock()
_look = Event()


def begin(asked: Asked) -> None:
    """Have a recorded message answered in the background, unless it is answered already."""
    global _keeper
    if asked.output.status == Output.Status.OK:
        return
    now, making = timezone.now(), Making(asked)
    Draft.objects.update_or_create(output=asked.output, defaults={"text": "", "saved_at": now, "stopping": False})
    with _lock:
        _running[asked.output.pk] = making
        if _keeper is None:
            _keeper = Thread(target=_keep, name="keeper", daemon=True)
            _keeper.start()
    Thread(target=_make, args=(making, get_language()), daemon=True).start()


def here(output: Output) -> Making | None:
    """The answer to a message, if this process writes it."""
    return _running.get(output.pk)


def under_way() -> int:
    """How many answers this process writes."""
    return len(_running)


def awaited(outputs: Iterable[Output], now: datetime) -> set[int]:
    """Those that somebody is still answering: he was heard of, or nothing is known of him and it is not long ago."""
    pending = [output for output in outputs if output.status == Output.Status.PENDING]
    if not pending:
        return set()
    drafts = dict(Draft.objects.filter(output__in=pending).values_list("output_id", "saved_at"))
    alive = set(Draft.objects.filter(output__in=pending).alive(now).values_list("output_id", flat=True))
    patience = service.patience()
    return alive | {each.pk for each in pending if each.pk not in drafts and each.is_awaited(now, patience)}


def stop(output: Output) -> None:
    """Have an answer stopped, whichever process writes it; nothing happens if it has come by then."""
    Draft.objects.filter(output=output).update(stopping=True)
    _look.set()


def hand_back(seconds: float) -> None:
    """Let the answers of this process end within ``seconds``; those that do not may be asked again."""
    deadline = monotonic() + seconds
    for making in tuple(_running.values()):
        if not making.over.wait(max(0.0, deadline - monotonic())):
            making.stop()
            with suppress(InvalidInput, DatabaseError):
                bank, output = making.asked.project.bank, making.asked.output
                services.complete(bank, output, status=Output.Status.STOPPED)
            _end(making)
    give_back()


def _make(making: Making, language: str | None) -> None:
    try:
        with override(language):  # of who asked, to tell her why a chat could not be shortened for it
            service.answer(making.asked, making.hear)
    except InvalidInput as why:  # erased meanwhile
        logger.info("output %s: no answer is kept: %s", making.asked.output.pk, why)
    except Exception as error:
        logger.error("output %s: %s", making.asked.output.pk, unexpected(error))
    finally:
        with suppress(DatabaseError):
            _end(making)
        give_back()


def _end(making: Making) -> None:
    """Nobody writes it any more."""
    pk = making.asked.output.pk
    with _lock:
        newest = _running.get(pk) is making
        if newest:
            del _running[pk]
    try:
        if newest:
            Draft.objects.filter(pk=pk).delete()
    finally:
        making.end()


def _keep() -> None:
    """Until nothing is under way."""
    global _keeper
    while True:
        _look.wait(EVERY)
        _look.clear()
        with _lock:
            makings = list(_running.values())
            if not makings:
                _keeper = None
                return
        try:
            _save(makings, timezone.now())
        except Exception as error:  # the database is busy or away: the next look may find it
            logger.warning("keeper: %s", unexpected(error))
        give_back()


def _save(makings: list[Making], now: datetime) -> None:
    wanted = Draft.objects.filter(output__in=[making.asked.output.pk for making in makings])
    stopping = dict(wanted.values_list("output_id", "stopping"))
    with transaction.atomic():
        for making in makings:
            length, at = making.saved
            text, pk = making.text, making.asked.output.pk
            if stopping.get(pk) is False and (len(text) > length or now - at > SIGN_OF_LIFE):
                Draft.objects.filter(pk=pk).update(text=text, saved_at=now)
                making.saved = len(text), now
    for making in makings:
        if stopping.get(making.asked.output.pk, True):
            _stop(making)


def _stop(making: Making) -> None:
    """Complete it with what there is, though its thread may still wait for the model; if it is erased, with nothing."""
    making.stop()
    prompt, model = making.asked.prompt, llm.get("chat")
    had = llm.Completion(making.text, prompt.tokens, services.count_tokens(making.text), model.model if model else "")
    with suppress(InvalidInput):
        service.stopped(making.asked, had)
    _end(making)
