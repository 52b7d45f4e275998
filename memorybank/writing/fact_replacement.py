"""Facts linked to the newer one that says that what they state is over, whichever chat was summarised first.

Recall's index names the turns that speak of a value; the facts of their chats are then looked at closely. So
it takes no longer when history grows; of a value that everybody speaks of, only the newest turns count. A chat
may also be summarised long after one that changed what it says: then the newer facts are there already.
"""

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_

from django.db.models import F, Q, prefetch_related_objects

from memorybank.core import state_changes, value_changes
from memorybank.core.state_changes import Statement
from memorybank.models import Bank, Chat, Entry, Fact, FactQuerySet
from memorybank.reading import recall

#: Turns looked at for one value, the newest, and chats that are summarised but not yet indexed.
NEWEST = 100
#: Facts that say that something goes on which are looked at when something ends, the newest of a bank; and facts that
#: say that something is over which are looked at for what is written down after them, the nearest in time.
MOST = 500


def supersede(bank: Bank, facts: Sequence[Fact]) -> None:
    """Link older facts of the bank to the one of ``facts``, all new and of one chat, that says it replaces what they
    state; and those of ``facts`` that are older than what the bank knows by now to what replaced them.

    What a person pinned or edited stands. What an older fact says besides goes with it: half a sentence misleads.
    """
    changing = [fact for fact in facts if fact.changing]
    _link_values(_stating(bank, changing), changing)
    if any(state_changes.states_end(fact.text) for fact in changing):
        _link_states(_ongoing(bank), changing)
    if later := _changing_since(bank, facts):
        _link_values(_standing(facts), later)
        if ongoing := [fact for fact in _standing(facts) if fact.ongoing]:
            _link_states(ongoing, later)


def _link_values(older: Sequence[Fact], newer: Sequence[Fact]) -> None:
    """Older facts with a value that a newer one says is replaced."""
    said = {new: value_changes.replacements(new.text) for new in newer}

    def is_replaced(old: Fact, new: Fact) -> bool:
        decided = old.kind == Fact.Kind.DECISION
        return any(value_changes.is_replaced(old.text, new.text, each, decided=decided) for each in said[new])

    _link(older, [new for new in newer if said[new]], is_replaced)


def _link_states(older: Sequence[Fact], newer: Sequence[Fact]) -> None:
    """Older facts that say of something that it goes on, of which a newer one says that it is over."""
    states = _statements(older)
    said = {new: Statement(new.text, new.speaker) for new in newer if state_changes.states_end(new.text)}
    _link(older, list(said), lambda old, new: state_changes.is_over(states[old.pk], said[new]))


def _link(older: Sequence[Fact], newer: Sequence[Fact], is_over: Callable[[Fact, Fact], bool]) -> None:
    """Link each older fact to the first of the newer ones that is not held back and by which it is over."""
    for new in newer:
        over = _preceding([old for old in older if old.said_on <= new.said_on and is_over(old, new)], new)
        Fact.objects.filter(pk__in=[old.pk for old in over]).update(superseded_by=new)
        if new.quarantine:  # what it replaces still stands
            continue
        for old in over:
            old.superseded_by = new
        older = [old for old in older if old not in over]


def _standing(facts: Sequence[Fact]) -> list[Fact]:
    """Those of new facts that may give way: neither held back nor replaced by one of them."""
    return [fact for fact in facts if not fact.quarantine and fact.superseded_by_id is None]


def _preceding(facts: Sequence[Fact], new: Fact) -> list[Fact]:
    """Those that were said before ``new``; of what one turn says, those that were written down before it."""
    prefetch_related_objects([fact for fact in facts if fact.said_on == new.said_on], "output_links")
    return [f for f in facts if f.said_on < new.said_on or (max(f.citations), f.pk) < (max(new.citations), new.pk)]


def _statements(facts: Sequence[Fact]) -> dict[int, Statement]:
    """What each of the facts says; with its turn, if it names nothing itself."""
    bare = [fact for fact in facts if state_changes.is_bare(fact.text)]
    prefetch_related_objects(bare, "output_links__output")
    turns = {fact.pk: link.output for fact in bare for link in fact.output_links.all()[:1]}
    said = {fact: f"{turn.question}\n{turn.answer}" for fact, turn in turns.items()}
    return {fact.pk: Statement(fact.text, fact.speaker, said.get(fact.pk, "")) for fact in facts}


def _stating(bank: Bank, facts: Sequence[Fact]) -> list[Fact]:
    """Leaf facts that may give way and have a value in them which one of ``facts`` says is replaced."""
    values = {each.old for fact in facts for each in value_changes.replacements(fact.text)}
    if not values:
        return []
    leaves = Entry.objects.leaves().filter(chat__in=_chats(bank, values) | {fact.entry.chat_id for fact in facts})
    stated = reduce(or_, (Q(text__icontains=value) for value in values))
    return list(_giving_way().filter(stated, entry__in=leaves))


def _chats(bank: Bank, values: Collection[str]) -> set[int | None]:
    """Chats with turns that speak of one of the values, and those that the index does not know yet."""
    # Written as a sum, so that SQLite reads the index of those that wait and not every chat of the bank.
    waiting = Chat.objects.alias(of_bank=F("bank_id") + 0).filter(of_bank=bank.pk, index_due=True)
    waiting = waiting.filter(summarised_through__gt=F("indexed_through")).order_by("-pk")
    return {*recall.mentioning(bank, values, most=NEWEST), *waiting.values_list("pk", flat=True)[:NEWEST]}


def _ongoing(bank: Bank) -> list[Fact]:
    """The newest leaf facts that may give way and say that something goes on."""
    return list(_giving_way().filter(bank=bank, ongoing=True).exclude(entry__chat=None).order_by("-pk")[:MOST])


def _giving_way() -> FactQuerySet:
    """Facts that stand, and that no person settled."""
    return Fact.objects.visible().filter(pinned=False, edited_by="")


def _changing_since(bank: Bank, facts: Sequence[Fact]) -> list[Fact]:
    """Other leaf facts that say that something is over, said since the first of ``facts``, in order."""
    if not facts:
        return []
    since = Fact.objects.filter(bank=bank, changing=True, hidden=False, said_on__gte=min(f.said_on for f in facts))
    others = since.exclude(entry__chat=None).exclude(pk__in=[fact.pk for fact in facts])
    return list(others.order_by("said_on", "pk")[:MOST])
