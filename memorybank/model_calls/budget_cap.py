"""The monthly budget cap: what memory has spent, whether it may spend more, and what to rebuild below the cap."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F
from django.utils.module_loading import import_string

from memorybank import conf, hooks, llm
from memorybank.clock import PRESENT, at_present
from memorybank.hooks import Change
from memorybank.models import CAPPED, EXTRACTIVE, Bank, Chat, LLMCall
from memorybank.models.ledger import OF_CHATS

logger = logging.getLogger(__name__)

#: The share of a cap from which on it is near.
NEAR_SHARE = Decimal("0.8")


def month_of(now: datetime) -> datetime:
    """The start of the current month (UTC whatever the bank's zone: a tenant's banks are in several zones)."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@at_present
def spent(bank: Bank, *, now: datetime = PRESENT) -> Decimal:
    """The cost of ``bank``'s memory this month (UTC)."""
    return spent_since([bank], month_of(now))


def spent_since(banks: Iterable[Bank], since: datetime) -> Decimal:
    """The cost of these banks' memory since then."""
    return LLMCall.objects.of_memory(banks, since)


def is_capped(bank: Bank, now: datetime) -> bool:
    """Whether the bank or its owner has spent this month's budget. A running call may exceed it."""
    cap = Bank.objects.filter(pk=bank.pk).values_list("monthly_cap", flat=True).first()
    if cap is not None and spent(bank, now=now) >= cap:
        return True
    path = conf.current().capped_for_bank
    return bool(path and import_string(path)(bank, month_of(now)))


def is_stopped(bank: Bank, now: datetime) -> bool:
    """Whether work on the bank must do without the model; recorded, so that it is rebuilt once below the cap."""
    stops_model = llm.get("summary") is not None and is_capped(bank, now)
    if stops_model and Bank.objects.filter(pk=bank.pk, capped_at=None).update(capped_at=now):
        hooks.notify(bank.pk, Change.CAP_REACHED, [bank.pk])
    return stops_model


def notify_near(bank: Bank, calls: Iterable[LLMCall], now: datetime) -> None:
    """Say that most of the bank's own cap is spent, if these calls, which are in the ledger, were what passed it."""
    cost = sum((call.cost or Decimal() for call in calls if call.purpose not in OF_CHATS), Decimal())
    cap = Bank.objects.filter(pk=bank.pk).values_list("monthly_cap", flat=True).first() if cost else None
    if cap:
        after, near = spent(bank, now=now), cap * NEAR_SHARE
        if after - cost < near <= after < cap:
            hooks.notify(bank.pk, Change.CAP_NEAR, [bank.pk])


def method() -> str:
    """The method of an entry written without a model: "capped" if a model is configured, else "extractive"."""
    return CAPPED if llm.get("summary") else EXTRACTIVE


def resume_below_cap(now: datetime) -> int:
    """Have the model rebuild what was extracted above the cap, in banks that are below it; returns their number.

    One query on an empty index while no bank is at its cap.
    """
    banks = [bank for bank in Bank.objects.filter(capped_at__isnull=False) if not is_capped(bank, now)]
    for bank in banks:
        _resume(bank, now)
    return len(banks)


@transaction.atomic
def _resume(bank: Bank, now: datetime) -> None:
    Bank.objects.lock(bank.pk)
    extracted = bank.entries.filter(method=CAPPED)
    chats = Chat.objects.filter(pk__in=extracted.leaves().values("chat"), parked_at=None).remembered()
    chats.update(stale=True, due_at=now)
    extracted.update(stale=True)
    Bank.objects.filter(pk=bank.pk).update(capped_at=None, compress_at=now, version=F("version") + 1)
    logger.info("bank %s: below its cap again", bank.pk)
