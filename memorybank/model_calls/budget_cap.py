"""The monthly budget cap: memory's costs, whether it may spend more, and what to rebuild once below the cap."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, Sum
from django.utils.module_loading import import_string

from memorybank import conf, hooks, llm
from memorybank.clock import PRESENT, at_present
from memorybank.hooks import Change
from memorybank.models import CAPPED_METHOD, EXTRACTIVE, Bank, Chat, LLMCall
from memorybank.models.ledger import OF_CHATS
from memorybank.prepared import PreparedQuery

logger = logging.getLogger(__name__)

#: The share of the cap at which a notification is sent.
NEAR_SHARE = Decimal("0.8")
_CAP = PreparedQuery(lambda pk: Bank.objects.filter(pk=pk).values_list("monthly_cap"))


def month_of(now: datetime) -> datetime:
    """The start of the current month in UTC, because the banks of a tenant may have different time zones."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@at_present
def cost_this_month(bank: Bank, *, now: datetime = PRESENT) -> Decimal:
    """The cost of ``bank``'s memory this month (UTC)."""
    return spent_since([bank], month_of(now))


def spent_since(banks: Iterable[Bank], since: datetime) -> Decimal:
    """The cost of these banks' memory since ``since``."""
    calls = LLMCall.objects.of_memory(since).filter(bank__in=banks)
    return calls.aggregate(cost=Sum("cost"))["cost"] or Decimal()


def is_capped(bank: Bank, now: datetime) -> bool:
    """Whether the bank or its owner has spent this month's budget. A running call may exceed it."""
    if any(cap is not None and cost_this_month(bank, now=now) >= cap for (cap,) in _CAP.rows(bank.pk)):
        return True
    path = conf.current().capped_for_bank
    return bool(path and import_string(path)(bank, month_of(now)))


def forbids_calls(bank: Bank, now: datetime) -> bool:
    """Whether a model is configured and the cap forbids calling it."""
    return llm.get("summary") is not None and is_capped(bank, now)


def stop_at_cap(bank: Bank, now: datetime) -> bool:
    """If the cap forbids model calls, record and report it; return whether it does.

    Once the bank is below its cap again, the model rebuilds what was extracted meanwhile.
    """
    is_forbidden = forbids_calls(bank, now)
    if is_forbidden and Bank.objects.filter(pk=bank.pk, capped_at=None).update(capped_at=now):
        hooks.notify(bank.pk, Change.CAP_REACHED, [bank.pk])
    return is_forbidden


def notify_near(bank: Bank, calls: Iterable[LLMCall], now: datetime) -> None:
    """Notify that the bank has spent NEAR_SHARE of its cap, if these calls, already in the ledger, crossed it."""
    cost = sum((call.cost or Decimal() for call in calls if call.purpose not in OF_CHATS), Decimal())
    cap = Bank.objects.filter(pk=bank.pk).values_list("monthly_cap", flat=True).first() if cost else None
    if cap:
        after, near = cost_this_month(bank, now=now), cap * NEAR_SHARE
        if after - cost < near <= after < cap:
            hooks.notify(bank.pk, Change.CAP_NEAR, [bank.pk])


def method() -> str:
    """The method of an entry written without a model: "capped" if a model is configured, else "extractive"."""
    return CAPPED_METHOD if llm.get("summary") else EXTRACTIVE


def resume_below_cap(now: datetime) -> int:
    """Schedule the rebuild of memory extracted while capped, for banks below their cap; return the number of banks.

    Costs one query on an empty index while no bank is at its cap.
    """
    banks = [bank for bank in Bank.objects.capped() if not is_capped(bank, now)]
    for bank in banks:
        _resume(bank, now)
    return len(banks)


@transaction.atomic
def _resume(bank: Bank, now: datetime) -> None:
    Bank.objects.lock(bank.pk)
    extracted = bank.entries.filter(method=CAPPED_METHOD)
    waiting = bank.entries.filter(Q(method=CAPPED_METHOD) | Q(stale=True))
    chats = Chat.objects.filter(pk__in=waiting.leaves().values("chat"), parked_at=None).remembered()
    chats.update(stale=True, due_at=now)
    extracted.update(stale=True)
    Bank.objects.touch(bank.pk, capped_at=None, consolidate_at=now)
    logger.info("bank %s: below its cap again", bank.pk)
