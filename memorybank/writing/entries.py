"""The facts of an entry: written down, and the older facts marked that state a value which is over now.

Recall's index names the turns that speak of a value; the facts of their chats are then looked at closely. So
it takes no longer when history grows; of a value that everybody speaks of, only the newest turns count.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import or_

from django.db.models import F, Q

from memorybank import conf
from memorybank.core import ending, superseding
from memorybank.core.ending import Statement
from memorybank.core.superseding import Replacement
from memorybank.core.turns import Draft
from memorybank.language import tokens
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, Entry, Fact, Granularity, Output
from memorybank.reading import recall
from memorybank.reading.recall.correcting import says

#: Turns looked at for one value, the newest, and chats that are summarised but not yet indexed.
NEWEST = 100
#: Facts that say that something goes on which are looked at when something ends, the newest of a bank.
MOST_ONGOING = 500


def write_facts(entry: Entry, drafts: Iterable[Draft], *, kept: list[Fact]) -> list[Fact]:
    """Add ``drafts`` to the facts ``kept``, its own or not, without repeating one, and count tokens; the new ones.

    Nor is written again what a person hid or put right.
    """
    encoding = conf.current().encoding
    said = {fact.text for fact in kept}
    overruled = [fact for fact in kept if fact.entry_id == entry.pk and (fact.hidden or fact.edited_by)]
    position = max((fact.position for fact in kept if fact.entry_id == entry.pk), default=-1)
    new = []
    for draft in drafts:
        if draft.text not in said and not _is_overruled(draft, overruled):
            said.add(draft.text)
            position += 1
            new.append(_fact(entry, position, draft, encoding))
    Fact.objects.bulk_create(new)
    entry.tokens = sum(fact.tokens for fact in [*kept, *new])
    entry.save(update_fields=["tokens"])
    return new


def _is_overruled(draft: Draft, by: Sequence[Fact]) -> bool:
    """Whether it says of the same turns what one of these facts said before a person decided about it."""
    if not by:
        return False
    words = frozenset(terms(draft.text))
    return any(
        not set(draft.citations).isdisjoint(fact.citations) and says(words, frozenset(terms(fact.said_first)))
        for fact in by
    )


def _fact(entry: Entry, position: int, draft: Draft, encoding: str) -> Fact:
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


def supersede(bank: Bank, facts: Sequence[Fact]) -> None:
    """Link older facts of the bank to the one of ``facts``, all of one chat, that says it replaces what they state.

    What a person pinned or edited stands. What an older fact says besides goes with it: half a sentence misleads.
    """
    _supersede_values(bank, facts)
    _supersede_states(bank, facts)


def _supersede_values(bank: Bank, facts: Sequence[Fact]) -> None:
    """Facts with a value that one of ``facts`` says is replaced."""
    said = [(fact, replacement) for fact in facts for replacement in superseding.replacements(fact.text)]
    if not said:
        return
    values = {replacement.old for _, replacement in said}
    older = _stating(values, _chats(bank, values) | {fact.entry.chat_id for fact in facts})
    for fact, replacement in said:
        replaced = [old for old in older if _is_replaced(old, fact, replacement)]
        Fact.objects.filter(pk__in=[old.pk for old in replaced]).update(superseded_by=fact)
        if not fact.quarantine:  # else what it replaces still stands
            older = [old for old in older if old not in replaced]


def _supersede_states(bank: Bank, facts: Sequence[Fact]) -> None:
    """Facts that say of something that it goes on, of which one of ``facts`` says that it is over."""
    said = [fact for fact in facts if ending.ends(fact.text)]
    going_on = Fact.objects.visible().filter(bank=bank, ongoing=True, pinned=False, edited_by="")
    older = list(going_on.exclude(entry__chat=None).order_by("-pk")[:MOST_ONGOING]) if said else []
    states = _statements(older)
    for fact in said:
        new = Statement(fact.text, fact.speaker)
        over = [old for old in older if _precedes(old, fact) and ending.is_over(states[old.pk], new)]
        Fact.objects.filter(pk__in=[old.pk for old in over]).update(superseded_by=fact)
        if not fact.quarantine:
            older = [old for old in older if old not in over]


def _statements(facts: Sequence[Fact]) -> dict[int, Statement]:
    """What each of the facts says; with its turn, if it names nothing itself."""
    bare = {fact.pk: fact.citations[0] for fact in facts if ending.is_bare(fact.text)}
    turns = Output.objects.in_bulk(bare.values())
    said = {fact: f"{turns[turn].question}\n{turns[turn].answer}" for fact, turn in bare.items() if turn in turns}
    return {fact.pk: Statement(fact.text, fact.speaker, said.get(fact.pk, "")) for fact in facts}


def _chats(bank: Bank, values: Collection[str]) -> set[int | None]:
    """Chats with turns that speak of one of the values, and those that the index does not know yet."""
    # Written as a sum, so that SQLite reads the index of those that wait and not every chat of the bank.
    waiting = Chat.objects.alias(of_bank=F("bank_id") + 0).filter(of_bank=bank.pk, index_due=True)
    waiting = waiting.filter(summarised_through__gt=F("indexed_through")).order_by("-pk")
    return {*recall.mentioning(bank, values, most=NEWEST), *waiting.values_list("pk", flat=True)[:NEWEST]}


def _stating(values: Collection[str], chats: Collection[int | None]) -> list[Fact]:
    """Leaf facts of these chats that may give way and have one of the values in them."""
    leaves = Entry.objects.leaves().filter(chat__in=chats)
    facts = Fact.objects.visible().filter(entry__in=leaves, pinned=False, edited_by="")
    return list(facts.filter(reduce(or_, (Q(text__icontains=value) for value in values))))


def _is_replaced(old: Fact, new: Fact, replacement: Replacement) -> bool:
    decided = old.kind == Fact.Kind.DECISION
    return _precedes(old, new) and superseding.is_replaced(old.text, new.text, replacement, decided=decided)


def _precedes(old: Fact, new: Fact) -> bool:
    """Whether one was said before the other, and written down before it."""
    return old.pk < new.pk and old.said_on <= new.said_on


def kept_facts(bank: Bank, children: Sequence[Entry]) -> list[Fact]:
    """Leaf facts of the leaves among ``children``, and those the digests among them cite or keep, oldest first.

    Of a leaf that a model wrote, extracted detail is left to rendering.
    """
    leaves = [child.pk for child in children if child.granularity == Granularity.CONVERSATION]
    digests = [child.pk for child in children if child.granularity != Granularity.CONVERSATION]
    cited = set(chain.from_iterable(Fact.objects.filter(entry__in=digests).values_list("citations", flat=True)))
    cited.update(chain.from_iterable(child.kept for child in children))
    leaf_facts = Fact.objects.shareable().filter(entry__bank=bank)
    ordered = leaf_facts.order_by("said_on", "entry__last_at", "entry_id", "position")
    found = list(ordered.filter(Q(entry__in=leaves) | Q(pk__in=cited)))
    written = {fact.entry_id for fact in found if not fact.detail}
    return [f for f in found if f.pk in cited or not f.detail or f.entry_id not in written]
