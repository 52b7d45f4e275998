"""Create, delete and list banks as rows, for the projects of the outer application."""

from collections.abc import Collection

from django.db.models import QuerySet, Subquery

from memorybank import bank_scope
from memorybank.models import Bank, StoredBlock


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
