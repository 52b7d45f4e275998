"""Which lines of digests may be told as they are.

A line must not be told while one of its sources is of a private chat or was corrected since the line was written; nor,
while an entry of a private chat is taken out of its digest, if it has words that its own sources lack, because the
digest's writer had read the private notes. ``erasure/withdrawal.py`` withdraws such lines.
"""

from collections.abc import Collection
from datetime import datetime

from memorybank.language import dates
from memorybank.language.terms import terms
from memorybank.models import Bank, Entry, Fact, FactQuerySet


def read_lines(lines: FactQuerySet) -> tuple[list[Fact], set[int]]:
    """The lines with their sources, and the ids of the digests that entries of private chats were taken out of."""
    rows = list(lines.prefetch_related("source_links", "sources__entry__chat", "sources__superseded_by").order_by("pk"))
    taken_out = Entry.objects.filter(bank__in={line.bank_id for line in rows}, detached_from__isnull=False)
    return rows, set(taken_out.above().values_list("pk", flat=True))


def may_be_told(line: Fact, incomplete: Collection[int]) -> bool:
    """Whether a line may be told; ``incomplete`` has the digests that entries of private chats were taken out of."""
    edited = {link.source_id: link.source_edited_at for link in line.source_links.all()}
    if any(source.is_private or _is_corrected(source, edited[source.pk]) for source in line.sources.all()):
        return False
    return line.entry_id not in incomplete or bool(line.edited_by) or has_words_of(line, line.text)


def mismatched(bank: Bank) -> list[Fact]:
    """The lines of a bank's digests that are withdrawn but may be told, and those that are told but must not be."""
    rows, incomplete = read_lines(bank.facts.filter(entry__chat=None))
    return [line for line in rows if line.withdrawn is may_be_told(line, incomplete)]


def has_words_of(line: Fact, text: str) -> bool:
    """Whether the line's sources contain every word of ``text``."""
    return {word for source in line.sources.all() for word in words_of(source)}.issuperset(terms(text))


def words_of(fact: Fact) -> list[str]:
    """The words that a line resting on this fact may have."""
    return terms(f"{fact.text} {fact.speaker} {dates.format_date(fact.said_on)}")


def _is_corrected(source: Fact, edited_before: datetime | None) -> bool:
    """Whether a person has corrected the source since the line was written, or another fact of its leaf instead."""
    newer = source.superseded_by
    replaced = newer is not None and bool(newer.edited_by) and newer.entry_id == source.entry_id
    return replaced or source.edited_at != edited_before
