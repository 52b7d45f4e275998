"""Facts and entries of a bank as rows."""

from collections.abc import Collection

from django.db.models import Q

from memorybank.models import Bank, FactQuerySet, FactSource
from memorybank.models.entry import EntryQuerySet


def facts_of(bank: Bank) -> FactQuerySet:
    """All facts of a bank, whatever their state; ``browse`` has those that people may see."""
    return bank.facts.all()


def entries_of(bank: Bank) -> EntryQuerySet:
    """The leaves and digests of a bank, without those of private chats."""
    return bank.entries.exclude(chat__private=True)


def stale_entries(bank: Bank) -> int:
    """How many leaves and digests wait to be rebuilt."""
    return bank.entries.filter(stale=True).count()


def restated_facts(bank: Bank, facts: Collection[int]) -> set[int]:
    """The leaf facts that the digest lines among ``facts`` rest on."""
    sources = FactSource.objects.filter(fact__in=facts, fact__bank=bank)
    return set(sources.values_list("source_id", flat=True))


def preferences_of(bank: Bank, author: str) -> FactQuerySet:
    """Lines of ``author`` that bind only them, because they say how to behave and no owner approved them.

    Private chats are left out. ``author`` is the author of outputs.
    """
    return bank.facts.preferences_of(author).exclude(entry__chat__private=True)


def restricted_facts(bank: Bank, facts: Collection[int]) -> set[int]:
    """Those of ``facts`` that are hidden, edited or quarantined: not everybody may read what they said."""
    restricted = facts_of(bank).filter(Q(hidden=True) | ~Q(quarantine="") | ~Q(original=""), pk__in=facts)
    return set(restricted.values_list("pk", flat=True))
