"""Ranked hits for people and programs: turns as memory would show them, and the facts made of them."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Chat, Entry, Fact, SearchDocument, Standing
from memorybank.reading.recall.index_terms import searched
from memorybank.reading.recall.searching import Found, parsed, search
from memorybank.reading.recall.visibility import shown, visible_lines

#: A fact is worth this share of its turn, and the rest as far as it has the turn's words of the question.
FACT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn ("output") or a fact that answers a question. ``pk`` is its own id, ``chat`` the chat's key."""

    kind: Literal["fact", "output"]
    pk: int
    chat: str
    text: str
    score: float
    created_at: datetime
    citations: tuple[int, ...]


@at_present
def recall(bank: Bank, question: str, *, top: int = 10, exclude_chat: str = "", now: datetime = PRESENT) -> list[Hit]:
    """The ``top`` best hits for a question, best first; [] when the bank is off or nothing matches.

    Private chats, the excluded chat, hidden and quarantined facts and replaced ones are never among them.
    ``now`` is what "yesterday" in the question is read against.
    """
    if not bank.enabled or top < 1:
        return []
    without = Chat.objects.filter(bank=bank, key=exclude_chat).first() if exclude_chat else None
    found = search(bank, parsed(bank, question, now), without=without, most=top)
    scores = dict(found.ranked)
    rows = SearchDocument.objects.of(bank).filter(pk__in=list(scores), chat__private=False)
    turns = list(rows.values_list("pk", "chat__key", "lines", "said_at", "chat_id", "sequence"))
    facts = _facts([row[4:] for row in turns])
    every = visible_lines({row[0]: row[2] for row in turns}, facts)
    lines = {turn: [line for line in own if not line.ends] for turn, own in every.items()}
    hits = {
        pk: Hit("output", pk, key, shown(lines[pk]), round(scores[pk], 4), said_at, (pk,))
        for pk, key, _, said_at, *_ in turns
        if lines[pk]
    }
    found_facts = [hit for fact in facts if fact.is_visible and (hit := _fact(fact, hits, found))]
    return sorted([*hits.values(), *found_facts], key=lambda hit: (-hit.score, hit.kind == "fact", -hit.pk))[:top]


def about(bank: Bank, question: str, *, most: int, now: datetime) -> list[int]:
    """Ids of the leaf facts that speak of what a question asks about, best first, whatever became of them."""
    found = search(bank, parsed(bank, question, now), without=None, most=most)
    scores = dict(found.ranked)
    turns = SearchDocument.objects.of(bank).filter(pk__in=list(scores)).values_list("chat_id", "sequence")
    values: dict[int, float] = {}
    for fact in _facts(list(turns)):
        share = _share(f"{fact.text} {fact.said_first} {fact.speaker}", found)
        if share and (cited := [scores[turn] for turn in fact.citations if turn in scores]):
            values[fact.pk] = max(cited) * (FACT_SHARE + (1 - FACT_SHARE) * share)
    return sorted(values, key=lambda pk: (-values[pk], -pk))[:most]


def _facts(turns: Collection[tuple[int, int]]) -> list[Standing]:
    """The leaf facts that may cite these turns, given as chat and sequence."""
    places = defaultdict(list)
    for chat, sequence in turns:
        places[chat].append(sequence)
    ranges = Entry.objects.leaves().filter(chat__in=places).values_list("pk", "chat", "first_output", "last_output")
    covering = [
        pk
        for pk, chat, first, last in ranges
        if any((first or 0) <= place <= (last or 0) for place in places[chat or 0])
    ]
    return Fact.objects.filter(entry__in=covering).standing() if covering else []


def _fact(fact: Standing, turns: Mapping[int, Hit], found: Found) -> Hit | None:
    """The fact as a hit, if it cites one of the turns."""
    cited = [turns[output] for output in fact.citations if output in turns]
    if not cited:
        return None
    best = max(cited, key=lambda hit: hit.score)
    score = best.score * (FACT_SHARE + (1 - FACT_SHARE) * _share(fact.text, found))
    return Hit("fact", fact.pk, best.chat, fact.text, round(score, 4), best.created_at, fact.citations)


def _share(text: str, found: Found) -> float:
    """How much of the question, by rarity, is in the text: 0…1."""
    said = set(searched(text))
    whole = sum(found.idfs.values())
    return sum(value for word, value in found.idfs.items() if word in said) / whole if whole else 0.0
