"""Withdraw the lines of digests that must not be told as they are, and show them again once they may be.

Nobody reads a withdrawn line. Its row stays until a model has rewritten the digest, so that it can be shown again.
"""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q

from memorybank.models import Entry, Fact, FactQuerySet, FactSource, KeptFact
from memorybank.models.entry import EntryQuerySet
from memorybank.reading.digest_lines import has_words_of, may_be_told, read_lines


def review(lines: FactQuerySet) -> set[int]:
    """Withdraw or show each of these lines, all of one bank, as its sources demand; return the ids of those changed.

    A withdrawn line passes its pin to its sources, until it is shown again. Its digest is due for rewriting. The caller
    holds the bank's lock.
    """
    rows, incomplete = read_lines(lines)
    allowed = {line.pk for line in rows if may_be_told(line, incomplete)}
    withdrawn = [line for line in rows if not line.withdrawn and line.pk not in allowed]
    shown = [line for line in rows if line.withdrawn and line.pk in allowed]
    Fact.objects.filter(pk__in=[line.pk for line in withdrawn]).update(withdrawn=True)
    Fact.objects.filter(pk__in=[line.pk for line in shown]).update(withdrawn=False)
    for line in withdrawn:
        if line.pinned:
            sources = [link.source_id for link in line.source_links.all()]
            Fact.objects.filter(pk__in=sources, pinned=False).update(pinned=True, pinned_for=line.pk)
    passed = Fact.objects.filter(pinned_for__in=[line.pk for line in shown])
    passed.update(pinned=False, pinned_for=None)
    for line in rows:  # the original text of an edited line may have words of what was taken out
        if (
            line.original
            and line.pk in allowed
            and line.entry_id in incomplete
            and not has_words_of(line, line.original)
        ):
            Fact.objects.filter(pk=line.pk).update(original="", original_speaker="")
    changed = [*withdrawn, *shown]
    digests = Entry.objects.filter(pk__in={line.entry_id for line in changed})
    gaps = Exists(Fact.objects.filter(entry=OuterRef("pk"), withdrawn=True))
    digests.filter(pk__in={line.entry_id for line in withdrawn}, parent=None).update(outdated=True)
    digests.filter(~gaps).update(outdated=False)
    digests.prune()
    return {line.pk for line in changed}


def forget_withdrawn(entries: EntryQuerySet) -> None:
    """Delete the withdrawn lines of the digests among and below these entries, because one of them is rewritten.

    Entries of private chats that were taken out of them roll up anew when the chats are shared again.
    """
    below = entries.below()
    Fact.objects.filter(entry__in=below, withdrawn=True).delete()
    KeptFact.objects.filter(entry__in=below, fact__entry__chat__private=True).delete()
    Entry.objects.filter(detached_from__in=below.values("pk")).update(detached_from=None)
    below.digests().filter(output_count=0).delete()


def forget_empty(digests: EntryQuerySet) -> None:
    """Delete digests all of whose chats are private; what was taken out of one belongs to the digest above it."""
    for digest in digests:
        Entry.objects.filter(detached_from=digest.pk).update(detached_from=digest.parent_id)
        digest.children.update(parent=digest.parent_id)
        digest.delete()


def lines_about(facts: Collection[int]) -> FactQuerySet:
    """The lines of digests that rest on these facts, or on facts that these replaced."""
    about = Q(source__in=facts) | Q(source__superseded_by__in=facts)
    return Fact.objects.filter(pk__in=FactSource.objects.filter(about).values("fact"))
