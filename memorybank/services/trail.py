"""The audit trail of a bank: who did what, whether memory was on, where it ends."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from memorybank.models import Bank, Erasure, ErasureRequest, Event, Job, Trail

Action = Event.Action
#: After these, lines of what the block said earlier are not kept.
ERASING = (Action.ERASE, Action.PRIVATE, Action.OPT_OUT)


def events_of(bank: Bank) -> QuerySet[Event]:
    """What is on the audit trail of a bank, newest first."""
    return bank.events.all()


def was_on(bank: Bank, moment: datetime) -> bool:
    """Whether memory was on at a moment, as the audit trail has it."""
    switched = events_of(bank).filter(at__lte=moment, action__in=(Action.ENABLE, Action.DISABLE))
    return switched.order_by("-at", "-pk").values_list("action", flat=True).first() == Action.ENABLE


def erased_since(bank: Bank, moment: datetime) -> bool:
    """Whether something was erased or made private since, so that lines of earlier blocks may be missing."""
    return events_of(bank).filter(at__gt=moment, action__in=ERASING).exists()


def trails(banks: Collection[int]) -> dict[int, Trail]:
    """Where the trails of these banks (ids) end; a bank that nobody did anything to has none."""
    return Trail.objects.in_bulk(banks)


def erasures_of(bank: Bank) -> QuerySet[Erasure]:
    """The receipts of what was erased, newest first."""
    return bank.erasures.all()


def erasure_requests_of(bank: Bank) -> QuerySet[ErasureRequest]:
    """What people asked in chats to have forgotten, newest first."""
    return bank.erasure_requests.all()


def jobs_of(bank: Bank) -> QuerySet[Job]:
    """What was asked of the workers, newest first."""
    return bank.jobs.all()
