"""The part of the public face that says how banks fare: counts, signs of life, trouble. None of it changes anything."""

from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet
from django.utils import timezone

from memorybank.models import Bank, LLMCall, LLMEndpoint
from memorybank.monitoring import dashboard as boards
from memorybank.monitoring import health as signs
from memorybank.monitoring import invariants
from memorybank.monitoring import statistics as monitoring_statistics
from memorybank.monitoring.dashboard import Board
from memorybank.monitoring.health import Vitals
from memorybank.monitoring.invariants import Violation
from memorybank.monitoring.statistics import History, Statistics


def outage(*, now: datetime | None = None) -> LLMEndpoint | None:
    """The summary model's endpoint while it backs off, with ``retry_at`` and ``last_error``; else None."""
    from memorybank.writing.model_calls import session

    return session.outage(now or timezone.now())


def vitals(*, now: datetime | None = None) -> Vitals:
    """How the memory of all banks fares, in numbers; a few indexed queries."""
    return signs.vitals(now or timezone.now())


def board(banks: QuerySet[Bank], *, now: datetime | None = None) -> Board:
    """What an operator of these banks looks at first; nothing of any other bank is counted."""
    return boards.board(banks, now or timezone.now())


def spent(bank: Bank, *, now: datetime | None = None) -> Decimal:
    """What its memory has cost this month (UTC)."""
    from memorybank.writing.model_calls import budget_cap

    return LLMCall.objects.of_memory([bank], budget_cap.month_of(now or timezone.now()))


def last_sweep() -> datetime | None:
    """When somebody last looked for what is due, in the background or with :func:`run`; None: never."""
    return signs.last_sweep()


def check(bank: Bank) -> list[Violation]:
    """Violations of I1–I3 in a bank, and what is missing or changed on its audit trail; [] means there is none."""
    return invariants.check(bank)


def statistics(bank: Bank) -> Statistics:
    """Counts over one bank and no other."""
    return monitoring_statistics.statistics(bank)


def history(bank: Bank) -> History:
    """What was said while memory was off and is no part of it: what including it would take."""
    return monitoring_statistics.history(bank)
