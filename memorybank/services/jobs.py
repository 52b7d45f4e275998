"""The part of the public face that has work done: in the foreground, or by the workers at once."""

from collections.abc import Callable, Collection
from datetime import datetime

from django.utils import timezone

from memorybank.core.reports import Report
from memorybank.models import Bank, BankDay, Job, Sweep
from memorybank.writing import bank_settings

# Whatever writes memory is imported where it is called, as in ``services``.


def summarise_now(bank: Bank, *, chat_key: str, now: datetime | None = None) -> Report:
    """Summarise what waits in one chat, idle or not, and bring the bank up to date."""
    from memorybank import worker

    return worker.summarise_now(bank, chat_key=chat_key, now=now or timezone.now())


def retry_parked(bank: Bank, *, actor: str, chat_key: str = "", now: datetime | None = None) -> int:
    """Give parked chats (or the one named) another chance; how many there were."""
    return bank_settings.retry_parked(bank, actor=actor, chat_key=chat_key, now=now or timezone.now())


def ask(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime | None = None
) -> Job:
    """Have the workers do something at once, for all ``chats`` (ids) or some; the job says how far they are.

    Raises :class:`InvalidInput`.
    """
    from memorybank.writing import jobs

    return jobs.ask(bank, kind, chats=chats, actor=actor, now=now or timezone.now())


def run(
    *,
    bank: Bank | None = None,
    until_idle: bool = False,
    now: datetime | None = None,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """What beat and worker do, in the foreground, for one bank or all."""
    from memorybank import worker

    if now is None and bank is None:  # a sweep like beat's, not one of a pretended time
        Sweep.objects.note(timezone.now())
        BankDay.objects.note_due(timezone.now())
    return worker.run(now=now or timezone.now(), bank=bank, until_idle=until_idle, progress=progress)
