"""Store the facts of an entry without duplicates and without what a person overruled; keep its children's facts."""

from collections.abc import Iterable, Sequence

from django.db.models import Q

from memorybank import conf
from memorybank.core.turns import DraftFact
from memorybank.language import tokens
from memorybank.language.terms import terms
from memorybank.models import Bank, Entry, Fact, FactSource, KeptFact
from memorybank.reading.recall.visibility import is_same_statement


def write_facts(entry: Entry, drafts: Iterable[DraftFact], *, kept: list[Fact]) -> list[Fact]:
    """Add ``drafts`` to the facts ``kept`` (the entry's own or others), without duplicates, and count tokens; return
    the new ones.

    What a person hid or edited is not written again.
    """
    encoding = conf.current().encoding
    known_texts = {fact.text for fact in kept}
    overruled = [fact for fact in kept if fact.entry_id == entry.pk and (fact.hidden or fact.edited_by)]
    position = max((fact.position for fact in kept if fact.entry_id == entry.pk), default=-1)
    new = []
    for draft in drafts:
        if draft.text not in known_texts and not _is_overruled(draft, overruled):
            known_texts.add(draft.text)
            position += 1
            new.append(_fact(entry, position, draft, encoding))
    Fact.objects.create_cited(new)
    entry.tokens = sum(fact.tokens for fact in [*kept, *new])
    entry.save(update_fields=["tokens"])
    return new


def _is_overruled(draft: DraftFact, by: Sequence[Fact]) -> bool:
    """Whether it repeats what one of these facts said of the same turns before a person hid or edited it."""
    if not by:
        return False
    words = frozenset(terms(draft.text))
    return any(
        not set(draft.citations).isdisjoint(fact.citations)
        and is_same_statement(words, frozenset(terms(fact.said_first)))
        for fact in by
    )


def _fact(entry: Entry, position: int, draft: DraftFact, encoding: str) -> Fact:
    return Fact.of(
        entry,
        position=position,
        kind=draft.kind,
        text=draft.text,
        speaker=draft.speaker[:200],
        said_on=draft.said_on,
        tokens=tokens.count(draft.text, encoding),
        weight=draft.weight,
        detail=draft.detail,
        citations=list(draft.citations),
        quarantine=draft.quarantine[:200],
    )


def kept_facts(bank: Bank, children: Sequence[Entry]) -> list[Fact]:
    """The facts of the leaves among ``children``, and those that their digests cite or keep, oldest first.

    For a leaf that a model wrote, extracted detail is left to rendering.
    """
    leaves = [child.pk for child in children if child.is_leaf]
    cited = set(FactSource.objects.filter(fact__entry__in=children).values_list("source_id", flat=True))
    cited.update(KeptFact.objects.filter(entry__in=children).values_list("fact_id", flat=True))
    leaf_facts = bank.facts.shareable()
    ordered = leaf_facts.order_by("said_on", "entry__last_at", "entry_id", "position")
    facts = list(ordered.filter(Q(entry__in=leaves) | Q(pk__in=cited)))
    written = {fact.entry_id for fact in facts if not fact.detail}
    return [f for f in facts if f.pk in cited or not f.detail or f.entry_id not in written]
