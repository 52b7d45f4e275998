"""A chat's compaction in one process's hands: taken, kept while that process lives, given back; and how far it is."""

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

from memorybank.clock import PRESENT, at_present
from memorybank.exceptions import InvalidInput, NotCompacted, NothingToCompact, log_message, public_message
from memorybank.models import Bank, Chat, Compaction

logger = logging.getLogger(__name__)

MAX_FOCUS = 1_000
#: How long a process that was killed still holds a chat.
LEASE = timedelta(minutes=1)
#: Seconds between two signs of life. A model's answer may take longer than a lease.
PULSE = 15.0

Stage = Compaction.Stage
#: Where each stage ends; the parts share what lies between planning and the merge.
PERCENT = {Stage.LOAD: 5, Stage.STRATEGY: 10, Stage.PARTS: 80, Stage.MERGED: 95, Stage.WRITTEN: 100}


@dataclass(frozen=True, slots=True)
class Progress:
    """One step: ``done`` of ``of`` parts are read, whatever came of each."""

    percent: int
    stage: Stage
    done: int = 0
    of: int = 0


@dataclass(slots=True)
class Reporter:
    """Tells each step once, from the thread that does the work, which is held for another ``lease`` by that."""

    compaction: Compaction
    now: datetime
    lease: timedelta
    tell: Callable[[Progress], None] | None = None
    last: Progress = field(default=Progress(0, Stage.LOAD))
    started: float = field(default_factory=monotonic)

    def reached(self, stage: Stage) -> None:
        """A stage is over."""
        self._say(Progress(PERCENT[stage], stage, self.last.done, self.last.of))

    def part(self, done: int, of: int) -> None:
        """So many parts are read, or have failed."""
        start, end = PERCENT[Stage.STRATEGY], PERCENT[Stage.PARTS]
        self._say(Progress(start + (end - start) * done // of, Stage.PARTS, done, of))

    def alive(self) -> None:
        """Hold the chat for another ``lease``. From any thread."""
        self._note()

    def _say(self, step: Progress) -> None:
        self.last = step
        self._note(percent=step.percent, stage=step.stage, done=step.done, of=step.of)
        seconds = monotonic() - self.started
        logger.debug("chat %s: %s, %s %% after %.1f s", self.compaction.chat_id, step.stage, step.percent, seconds)
        if self.tell:
            try:
                self.tell(step)
            except Exception as error:  # who listens is no reason to lose the work
                logger.warning("chat %s: nobody is told: %s", self.compaction.chat_id, log_message(error))
                self.tell = None

    def _note(self, **how_far: Any) -> None:
        until = self.now + timedelta(seconds=monotonic() - self.started) + self.lease
        try:
            self.compaction.note(until, **how_far)
        except DatabaseError as error:  # a busy one; there is time for more, and the commit asks whose work it is
            logger.warning("chat %s: how far it is, is not noted: %s", self.compaction.chat_id, log_message(error))


@at_present
def begin_compaction(
    bank: Bank, *, chat_key: str, focus: str = "", awaited: bool = True, now: datetime = PRESENT
) -> Compaction:
    """Take a chat for ``finish_compaction``, which must follow in this process.

    ``awaited``: somebody waits for it, so it is resumed if this process dies. Raises :class:`NotCompacted`, with how
    far it is, if it is being compacted already.
    """
    if len(focus) > MAX_FOCUS:
        why = _("focus: %(has)s characters, at most %(most)s are allowed.")
        raise InvalidInput(why % {"has": intcomma(len(focus)), "most": intcomma(MAX_FOCUS)})
    chat = _chat(bank, chat_key)
    held = Compaction.objects.begin(chat, now, LEASE, focus=focus, awaited=awaited)
    if held is None:
        running = Compaction.objects.running(chat.pk, now)
        why = _("The chat is being compacted already, %(percent)s %% done.")
        raise NotCompacted(why % {"percent": running.percent if running else 0})
    return held


@at_present
def resume_compaction(bank: Bank, *, chat_key: str, now: datetime = PRESENT) -> Compaction | None:
    """What :func:`begin_compaction` gave a process that has died since, a minute ago or longer; None if none has."""
    return Compaction.objects.resume(_chat(bank, chat_key), now, LEASE)


@contextmanager
def kept(held: Compaction, tell: Callable[[Progress], None] | None, now: datetime) -> Iterator[Reporter]:
    """Keep it, and give it back whatever happens, with why it failed."""
    reporter = Reporter(held, now, LEASE, tell)
    try:
        with _alive(reporter):
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
        held.give_back()  # of no effect where it has been given back already


def _chat(bank: Bank, key: str) -> Chat:
    chat = Chat.objects.filter(bank=bank, key=key).first()
    if chat is None:
        raise InvalidInput(f"chat: there is none with the key “{key[:200]}”.")
    return chat


@contextmanager
def _alive(reporter: Reporter) -> Iterator[None]:
    """Say from a thread beside the work that it goes on."""
    over = Event()
    pulse = Thread(target=_say_so, args=(reporter, over), name="pulse", daemon=True)
    pulse.start()
    try:
        yield
    finally:
        over.set()
        pulse.join()


def _say_so(reporter: Reporter, over: Event) -> None:
    try:
        while not over.wait(PULSE):
            reporter.alive()
    finally:
        connections.close_all()
