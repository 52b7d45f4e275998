"""The part of the public face that says how banks fare: counts, signs of life, trouble. None of it changes anything."""

from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet
from django.utils import timezone

from memorybank.models import Bank, LLMCall, LLMEndpoint
from memorybank.reading import board as boards
from memorybank.reading import counting, invariants
from memorybank.reading import vitals as signs
from memorybank.reading.board import Board
from memorybank.reading.counting import History, Statistics
from memorybank.reading.invariants import Violation
from memorybank.reading.vitals import Vitals


def outage(*, now: datetime | None = None) -> LLMEndpoint | None:
    """The summary model's endpoint while it backs off, with ``retry_at`` and ``last_error``; else None."""
    from memorybank.writing import model_session

    return model_session.outage(now or timezone.now())


def vitals(*, now: datetime | None = None) -> Vitals:
    """How the memory of all banks fares, in numbers; a few indexed queries."""
    return signs.vitals(now or timezone.now())


def board(banks: QuerySet[Bank], *, now: datetime | None = None) -> Board:
    """What an operator of these banks looks at first; nothing of any other bank is counted."""
    return boards.board(banks, now or timezone.now())


def spent(bank: Bank, *, now: datetime | None = None) -> Decimal:
    """What its memory has cost this month (UTC)."""
    from memorybank.writing import spending

    return LLMCall.objects.of_memory([bank], spending.month_of(now or timezone.now()))


def last_sweep() -> datetime | None:
    """When somebody last looked for what is due, in the background or with :func:`run`; None: never."""
    return signs.last_sweep()


def check(bank: Bank) -> list[Violation]:
    """Violations of I1–I3 in a bank, and what is missing or changed on its audit trail; [] means there is none."""
    return invariants.check(bank)


def statistics(bank: Bank) -> Statistics:
    """Counts over one bank and no other."""
    return counting.statistics(bank)


def history(bank: Bank) -> History:
    """What was said while memory was off and is no part of it: what including it would take."""
    return counting.history(bank)
