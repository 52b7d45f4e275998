"""Queries of a bank's facts and entries."""

from collections.abc import Collection

from memorybank.models import NOBODY, Bank, FactQuerySet, FactSource
from memorybank.models.entry import EntryQuerySet


def facts_of(bank: Bank) -> FactQuerySet:
    """All facts of a bank in any state; ``browse`` returns only the facts that people may see."""
    return bank.facts.all()


def entries_of(bank: Bank, *, viewer: str = NOBODY) -> EntryQuerySet:
    """The leaves and digests of a bank that this person may read."""
    return bank.entries.visible_to(viewer)


def count_stale_entries(bank: Bank) -> int:
    """The number of leaves and digests that wait to be rebuilt."""
    return bank.entries.waiting_for_rebuild().count()


def restated_fact_ids(bank: Bank, facts: Collection[int]) -> set[int]:
    """The ids of the leaf facts from which the digest lines among ``facts`` were written."""
    sources = FactSource.objects.filter(fact__in=facts, fact__bank=bank)
    return set(sources.values_list("source_id", flat=True))


def preferences_of(bank: Bank, author: str, *, viewer: str = NOBODY) -> FactQuerySet:
    """The rules for the assistant that bind only their ``author``, because no owner has approved them.

    Includes facts of private chats only if ``viewer`` may read the chat. ``author`` is the value in ``Output.author``.
    """
    return bank.facts.preferences_of(author, viewer=viewer)


def restricted_fact_ids(bank: Bank, facts: Collection[int]) -> set[int]:
    """The ids of ``facts`` that may not be shown or were edited: not everybody may read their original text."""
    own = facts_of(bank).filter(pk__in=facts)
    readable = own.may_be_shown().filter(original="")
    return set(own.exclude(pk__in=readable.values("pk")).values_list("pk", flat=True))
