"""What a bank remembers, as rows for people to look through: facts and entries."""

from collections.abc import Collection

from django.db.models import Q

from memorybank.models import Bank, FactQuerySet, FactSource
from memorybank.models.entry import EntryQuerySet


def facts_of(bank: Bank) -> FactQuerySet:
    """All facts of a bank, whatever became of them; what people may see of them is ``browse``."""
    return bank.facts.all()


def entries_of(bank: Bank) -> EntryQuerySet:
    """The summaries and digests of a bank, without those of private chats."""
    return bank.entries.exclude(chat__private=True)


def stale_entries(bank: Bank) -> int:
    """How many summaries and digests wait to be made anew."""
    return bank.entries.filter(stale=True).count()


def restated_by(bank: Bank, facts: Collection[int]) -> set[int]:
    """The leaf facts on which those of ``facts`` rest that are lines of digests."""
    sources = FactSource.objects.filter(fact__in=facts, fact__bank=bank)
    return set(sources.values_list("source_id", flat=True))


def withheld(bank: Bank, facts: Collection[int]) -> set[int]:
    """Those of ``facts`` that somebody hid or put right, or that are held back: what they said is not for everybody."""
    decided = facts_of(bank).filter(Q(hidden=True) | ~Q(quarantine="") | ~Q(original=""), pk__in=facts)
    return set(decided.values_list("pk", flat=True))
