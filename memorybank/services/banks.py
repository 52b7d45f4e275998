"""Create, delete and list banks as rows, for the projects of the outer application."""

from collections.abc import Collection

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from memorybank import bank_scope
from memorybank.models import Bank, Chat, StoredBlock


def all_banks() -> QuerySet[Bank]:
    """The banks of all tenants: the caller filters them by permission."""
    return Bank.objects.all()


def create_bank() -> Bank:
    """A new bank, switched off, and entered."""
    with bank_scope.every_bank():
        bank = Bank.objects.create()
    bank_scope.add(bank.pk)
    return bank


def lock_bank(bank: Bank) -> None:
    """Lock a bank's row until the caller's transaction ends, so that nothing is recorded there meanwhile."""
    Bank.objects.lock(bank.pk)


def delete_banks(ids: Collection[int]) -> tuple[int, dict[str, int]]:
    """Delete banks with everything they hold and the rows of other apps that refer to them; Django's counts."""
    return Bank.objects.filter(pk__in=ids).delete()


def block_tokens(bank: str) -> Subquery:
    """Tokens of the stored block, to annotate rows that refer to their bank by the column ``bank``."""
    return StoredBlock.current_tokens(bank)


def chat_count(bank: str) -> Subquery:
    """The chats that are for everybody, to annotate rows whose bank's id is the column ``bank``."""
    return Subquery(_public_chats(bank).order_by().values("bank").annotate(n=Count("pk")).values("n"))


def last_activity(bank: str) -> Subquery:
    """When somebody last wrote in a chat that is for everybody, to annotate rows in the same way."""
    return Subquery(_public_chats(bank).order_by().values("bank").annotate(at=Max("last_output_at")).values("at"))


def _public_chats(bank: str) -> QuerySet[Chat]:
    return Chat.objects.filter(bank=OuterRef(bank), private=False, last_output_at__isnull=False)
