"""Marking what new facts replace: the older facts that state a value which is over, found through recall's index.

The index names the turns that speak of the value; the facts of their chats are then looked at closely. So it
takes no longer when history grows; of a value that everybody speaks of, only the newest turns count.
"""

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

from django.db.models import F, Q

from . import conf, recall, superseding, tokens
from .models import Bank, Chat, Entry, Fact
from .superseding import Replacement

#: Turns looked at for one value, the newest, and chats that are summarised but not yet indexed.
NEWEST = 100


def supersede(bank: Bank, facts: Sequence[Fact]) -> None:
    """Link older facts of the bank to the one of ``facts``, all of one chat, that says it replaces what they state.

    What a person pinned or edited stands. What an older fact says besides stays, as a fact of its own.
    """
    said = [(fact, replacement) for fact in facts for replacement in superseding.replacements(fact.text)]
    if not said:
        return
    values = {replacement.old for _, replacement in said}
    older = _stating(values, _chats(bank, values) | {fact.entry.chat_id for fact in facts})
    for fact, replacement in said:
        replaced = [old for old in older if _is_replaced(old, fact, replacement)]
        for old in replaced:
            _replace(old, fact, replacement.old)
        if not fact.quarantine:  # else what it replaces still stands
            older = [old for old in older if old not in replaced]


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
    if old.pk >= new.pk or old.said_on > new.said_on:
        return False
    return superseding.is_replaced(old.text, new.text, replacement, decided=old.kind == Fact.Kind.DECISION)


def _replace(old: Fact, new: Fact, value: str) -> None:
    Fact.objects.filter(pk=old.pk).update(superseded_by=new)
    rest = superseding.remainder(old.text, value)
    if rest:
        size = tokens.count(rest, conf.current().encoding)
        own = Fact.objects.get(pk=old.pk)
        own.pk, own.text, own.tokens, own.superseded_by_id, own._state.adding = None, rest, size, None, True
        own.save()
        Entry.objects.filter(pk=old.entry_id).update(tokens=F("tokens") + size)
