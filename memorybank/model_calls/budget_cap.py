"""The monthly cap: what memory has spent, whether it may spend more, and what is made anew once it may again."""

import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F
from django.utils.module_loading import import_string

from memorybank import conf, llm
from memorybank.clock import PRESENT, at_present
from memorybank.models import CAPPED, EXTRACTIVE, Bank, Chat, LLMCall

logger = logging.getLogger(__name__)


def month_of(now: datetime) -> datetime:
    """When the month began that is counted (UTC, whatever the bank's zone: tenants have banks in several)."""
    return now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


@at_present
def spent(bank: Bank, *, now: datetime = PRESENT) -> Decimal:
    """What the memory of ``bank`` has cost this month (UTC)."""
    return spent_since([bank], month_of(now))


def spent_since(banks: Iterable[Bank], since: datetime) -> Decimal:
    """What memory of these banks has cost since then."""
    return LLMCall.objects.of_memory(banks, since)


def is_capped(bank: Bank, now: datetime) -> bool:
    """Whether the bank, or who owns it, has spent this month what memory may. A call that is under way may go over."""
    cap = Bank.objects.filter(pk=bank.pk).values_list("monthly_cap", flat=True).first()
    if cap is not None and spent(bank, now=now) >= cap:
        return True
    path = conf.current().capped_for_bank
    return bool(path and import_string(path)(bank, month_of(now)))


def stops(bank: Bank, now: datetime) -> bool:
    """Whether work on the bank does without the model; noted, so that it is made anew when it need not any more."""
    capped = llm.get("summary") is not None and is_capped(bank, now)
    if capped:
        Bank.objects.filter(pk=bank.pk, capped_at=None).update(capped_at=now)
    return capped


def method() -> str:
    """What is said of an entry that no model wrote: where there is one, only the cap keeps it from being asked."""
    return CAPPED if llm.get("summary") else EXTRACTIVE


def resume(now: datetime) -> int:
    """Have what was extracted at a cap made anew by the model, in banks that may spend again; how many those are.

    One query on an empty index while no bank is at its cap.
    """
    free = [bank for bank in Bank.objects.filter(capped_at__isnull=False) if not is_capped(bank, now)]
    for bank in free:
        _resume(bank, now)
    return len(free)


@transaction.atomic
def _resume(bank: Bank, now: datetime) -> None:
    Bank.objects.lock(bank.pk)
    extracted = bank.entries.filter(method=CAPPED)
    chats = Chat.objects.filter(pk__in=extracted.leaves().values("chat"), private=False, parked_at=None)
    chats.update(stale=True, due_at=now)
    extracted.update(stale=True)
    Bank.objects.filter(pk=bank.pk).update(capped_at=None, compress_at=now, version=F("version") + 1)
    logger.info("bank %s: below its cap again", bank.pk)
