"""Facts and entries of a bank as rows."""

from collections.abc import Collection

from django.db.models import Q

from memorybank.models import NOBODY, Bank, FactQuerySet, FactSource
from memorybank.models.entry import EntryQuerySet


def facts_of(bank: Bank) -> FactQuerySet:
    """All facts of a bank, whatever their state; ``browse`` has those that people may see."""
    return bank.facts.all()


def entries_of(bank: Bank, *, viewer: str = NOBODY) -> EntryQuerySet:
    """The leaves and digests of a bank that this person may read."""
    return bank.entries.visible_to(viewer)


def stale_entries(bank: Bank) -> int:
    """How many leaves and digests wait to be rebuilt."""
    return bank.entries.filter(stale=True).count()


def restated_facts(bank: Bank, facts: Collection[int]) -> set[int]:
    """The leaf facts that the digest lines among ``facts`` rest on."""
    sources = FactSource.objects.filter(fact__in=facts, fact__bank=bank)
    return set(sources.values_list("source_id", flat=True))


def preferences_of(bank: Bank, author: str, *, viewer: str = NOBODY) -> FactQuerySet:
    """Lines of ``author`` that bind only them, because they say how to behave and no owner approved them.

    Of private chats only those that ``viewer`` may read. ``author`` is the author of outputs.
    """
    return bank.facts.preferences_of(author, viewer=viewer)


def restricted_facts(bank: Bank, facts: Collection[int]) -> set[int]:
    """Those of ``facts`` that are hidden, edited or quarantined: not everybody may read what they said."""
    restricted = facts_of(bank).filter(Q(hidden=True) | ~Q(quarantine="") | ~Q(original=""), pk__in=facts)
    return set(restricted.values_list("pk", flat=True))
