"""A chat's compaction in one process's hands: taken, kept while that process lives, given back with why it failed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event, Thread

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import connections
from django.utils.translation import gettext as _

from memorybank.compaction.progress import Progress, Reporter
from memorybank.exceptions import InvalidInput, NotCompacted, NothingToCompact, blurred
from memorybank.models import Bank, Chat, Compaction

MAX_FOCUS = 1_000
#: How long a process that was killed still holds a chat.
LEASE = timedelta(minutes=1)
#: Seconds between two signs of life. A model's answer may take longer than a lease.
PULSE = 15.0


def begin(bank: Bank, *, chat_key: str, focus: str, awaited: bool, now: datetime) -> Compaction:
    """Take the chat; :class:`NotCompacted` if somebody has it. The caller has it :func:`kept` and given back."""
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


def resume(bank: Bank, *, chat_key: str, now: datetime) -> Compaction | None:
    """What :func:`begin` gives, of a compaction that somebody awaits and whose process died; None if there is none."""
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
        held.failed(blurred(error), now)
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
