"""Take, renew and release the lease of a chat's compaction, and report its progress."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event, Thread
from time import monotonic
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _

from memorybank import bank_scope
from memorybank.clock import PRESENT, at_present
from memorybank.exceptions import InvalidInput, NotCompacted, NothingToCompact, log_message, public_message
from memorybank.models import Bank, Chat, Compaction

logger = logging.getLogger(__name__)

MAX_COMPACTION_FOCUS_CHARACTERS = 1_000
#: How long a chat stays locked after its process was killed.
LEASE_DURATION = timedelta(minutes=1)
#: Interval of the renewals: a model's answer may take longer than a lease.
HEARTBEAT_SECONDS = 15.0

Stage = Compaction.Stage
#: Percentage at the end of each stage; the parts share the span between STRATEGY and PARTS.
PERCENT_AT_END = {Stage.LOAD: 5, Stage.STRATEGY: 10, Stage.PARTS: 80, Stage.MERGED: 95, Stage.WRITTEN: 100}


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress report: ``done`` of ``of`` parts are finished, whether they succeeded or failed."""

    percent: int
    stage: Stage
    done: int = 0
    of: int = 0


@dataclass(slots=True)
class ProgressReporter:
    """Reports each step once, from the working thread; every report renews the ``lease``."""

    compaction: Compaction
    now: datetime
    lease: timedelta
    on_progress: Callable[[Progress], None] | None = None
    last: Progress = field(default=Progress(0, Stage.LOAD))
    started: float = field(default_factory=monotonic)

    def reached(self, stage: Stage) -> None:
        """Report the end of a stage."""
        self._report(Progress(PERCENT_AT_END[stage], stage, self.last.done, self.last.of))

    def part(self, done: int, of: int) -> None:
        """Report that ``done`` of ``of`` parts have succeeded or failed."""
        start, end = PERCENT_AT_END[Stage.STRATEGY], PERCENT_AT_END[Stage.PARTS]
        self._report(Progress(start + (end - start) * done // of, Stage.PARTS, done, of))

    def renew(self) -> None:
        """Renew the lease. Thread-safe."""
        self._save()

    def _report(self, step: Progress) -> None:
        self.last = step
        self._save(percent=step.percent, stage=step.stage, done=step.done, of=step.of)
        seconds = monotonic() - self.started
        logger.debug("chat %s: %s, %s %% after %.1f s", self.compaction.chat_id, step.stage, step.percent, seconds)
        if self.on_progress:
            try:
                self.on_progress(step)
            except Exception as error:  # a failing listener must not stop the work
                logger.warning("chat %s: its progress is not reported: %s", self.compaction.chat_id, log_message(error))
                self.on_progress = None

    def _save(self, **progress: Any) -> None:
        until = self.now + timedelta(seconds=monotonic() - self.started) + self.lease
        try:
            self.compaction.save_progress(until, **progress)
        except DatabaseError as error:  # a busy database: the next step tries again, and the commit checks the lease
            logger.warning("chat %s: its progress is not stored: %s", self.compaction.chat_id, log_message(error))


@at_present
def begin_compaction(
    bank: Bank, *, chat_key: str, focus: str = "", awaited: bool = True, now: datetime = PRESENT
) -> Compaction:
    """Take the lease of a chat's compaction; the same process must then call ``finish_compaction``.

    ``awaited`` means that a person waits for it, so that it is resumed if this process dies. Raises
    :class:`NotCompacted`, with the progress, if the chat is being compacted already, and :class:`InvalidInput` if
    ``focus`` is too long or the chat does not exist.
    """
    if len(focus) > MAX_COMPACTION_FOCUS_CHARACTERS:
        why = _("focus: %(has)s characters, at most %(most)s are allowed.")
        raise InvalidInput(why % {"has": intcomma(len(focus)), "most": intcomma(MAX_COMPACTION_FOCUS_CHARACTERS)})
    chat = _chat(bank, chat_key)
    held = Compaction.objects.begin(chat, now, LEASE_DURATION, focus=focus, awaited=awaited)
    if held is None:
        running = Compaction.objects.running(chat.pk, now)
        why = _("The chat is being shortened already, %(percent)s %% done.")
        raise NotCompacted(why % {"percent": running.percent if running else 0})
    return held


@at_present
def resume_compaction(bank: Bank, *, chat_key: str, now: datetime = PRESENT) -> Compaction | None:
    """Take over an awaited compaction whose process died, so that its lease expired; None if there is none."""
    return Compaction.objects.resume(_chat(bank, chat_key), now, LEASE_DURATION)


@contextmanager
def hold_lease(
    held: Compaction, on_progress: Callable[[Progress], None] | None, now: datetime
) -> Iterator[ProgressReporter]:
    """Renew the lease during the ``with`` block, then release it; after a failure, store the error."""
    reporter = ProgressReporter(held, now, LEASE_DURATION, on_progress)
    try:
        with _heartbeat(reporter):
            yield reporter
    except NothingToCompact as why:
        held.give_back(error=str(why)[:500])
        raise
    except NotCompacted as why:
        held.failed(str(why), now)
        raise
    except Exception as error:
        held.failed(public_message(error), now)
        raise
    finally:
        held.give_back()  # no effect if it has been released


def _chat(bank: Bank, key: str) -> Chat:
    chat = Chat.objects.filter(bank=bank, key=key).first()
    if chat is None:
        raise InvalidInput("chat: there is none with this key.")
    return chat


@contextmanager
def _heartbeat(reporter: ProgressReporter) -> Iterator[None]:
    """Renew the lease from a second thread while the work goes on."""
    finished = Event()
    thread = Thread(target=bank_scope.carried(_renew_until), args=(reporter, finished), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def _renew_until(reporter: ProgressReporter, finished: Event) -> None:
    try:
        while not finished.wait(HEARTBEAT_SECONDS):
            reporter.renew()
    finally:
        connections.close_all()
