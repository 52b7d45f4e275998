"""Create, delete, list and lock the rows of banks, for the projects of the outer application."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery, Sum

from memorybank import bank_scope
from memorybank.models import Bank, Chat, LLMCall, StoredBlock
from memorybank.models.bank import LONG_DUE


def all_banks() -> QuerySet[Bank]:
    """The banks of all tenants: the caller filters them by permission."""
    return Bank.objects.all()


def create_bank() -> Bank:
    """Create a bank with memory switched off, and enter it."""
    with bank_scope.all_banks_entered():
        bank = Bank.objects.create()
    bank_scope.also_enter(bank.pk)
    return bank


def lock_bank(bank: Bank) -> None:
    """Lock a bank's row until the caller's transaction ends, so that no turn is recorded meanwhile."""
    Bank.objects.lock(bank.pk)


def update_trusted_authors(ids: Collection[int]) -> None:
    """Have the blocks of these banks rendered again, because other authors are trusted now."""
    for bank_id in ids:
        Bank.objects.touch(bank_id, consolidate_at=LONG_DUE)


def delete_banks(ids: Collection[int]) -> tuple[int, dict[str, int]]:
    """Delete banks with their rows and the rows of other apps that refer to them; return Django's counts."""
    return Bank.objects.filter(pk__in=ids).delete()


def block_tokens(bank: str) -> Subquery:
    """A subquery of the stored block's tokens, for rows whose column ``bank`` is the bank's id."""
    return StoredBlock.current_tokens(bank)


def chat_count(bank: str) -> Subquery:
    """A subquery of the number of non-private chats with turns, for rows whose column ``bank`` is the bank's id."""
    return Subquery(_public_chats(bank).order_by().values("bank").annotate(n=Count("pk")).values("n"))


def last_activity(bank: str) -> Subquery:
    """A subquery of the newest turn's time in non-private chats, for rows whose column ``bank`` is the bank's id."""
    return Subquery(_public_chats(bank).order_by().values("bank").annotate(at=Max("last_output_at")).values("at"))


def memory_cost(bank: str, since: datetime) -> Subquery:
    """A subquery of what memory cost since ``since``, for rows whose column ``bank`` is the bank's id."""
    calls = LLMCall.objects.of_memory(since).filter(bank=OuterRef(bank))
    return Subquery(calls.order_by().values("bank").annotate(sum=Sum("cost")).values("sum"))


def _public_chats(bank: str) -> QuerySet[Chat]:
    return Chat.objects.filter(bank=OuterRef(bank), private=False, last_output_at__isnull=False)
