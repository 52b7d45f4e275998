"""Ranked hits for people and programs: turns as memory would show them, and the facts made of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..models import Bank, Chat, Entry, Fact, SearchDocument
from .correcting import told
from .embedding import shown
from .searching import Found, search, understood
from .words import content

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


def recall(
    bank: Bank, question: str, *, top: int = 10, exclude_chat: str = "", now: datetime | None = None
) -> list[Hit]:
    """The ``top`` best hits for a question, best first; [] when the bank is off or nothing matches.

    Private chats, the excluded chat, hidden and quarantined facts and replaced ones are never among them.
    ``now`` is what "yesterday" in the question is read against.
    """
    if not bank.enabled or top < 1:
        return []
    without = Chat.objects.filter(bank=bank, key=exclude_chat).first() if exclude_chat else None
    found = search(bank, understood(bank, question, now), without=without, most=top)
    turns, chats = _turns(bank, found)
    facts = _facts(chats, turns, found)
    return sorted([*turns.values(), *facts], key=lambda hit: (-hit.score, hit.kind == "fact", -hit.pk))[:top]


def _turns(bank: Bank, found: Found) -> tuple[dict[int, Hit], set[int]]:
    """The turns with what may be shown of them, and the ids of their chats; none of a chat just made private."""
    scores = dict(found.ranked)
    rows = SearchDocument.objects.of(bank).filter(pk__in=list(scores), chat__private=False)
    columns = list(rows.values_list("pk", "chat__key", "lines", "said_at", "chat_id"))
    lines = told({row[0]: (row[4], row[2]) for row in columns})
    hits = {
        pk: Hit("output", pk, key, shown(lines[pk]), round(scores[pk], 4), said_at, (pk,))
        for pk, key, _, said_at, _ in columns
        if lines[pk]
    }
    return hits, {row[-1] for row in columns}


def _facts(chats: Collection[int], turns: Mapping[int, Hit], found: Found) -> list[Hit]:
    """The visible leaf facts of these chats that cite these turns."""
    ranges = Entry.objects.leaves().filter(chat__in=chats).values_list("pk", "first_output", "last_output")
    covering = [pk for pk, first, last in ranges if any((first or 0) <= turn <= (last or 0) for turn in turns)]
    facts = Fact.objects.shareable().filter(entry__in=covering).order_by() if covering else Fact.objects.none()
    hits = []
    for pk, text, citations in facts.values_list("pk", "text", "citations"):
        cited = [turns[output] for output in citations if output in turns]
        if cited:
            best = max(cited, key=lambda hit: hit.score)
            score = best.score * (FACT_SHARE + (1 - FACT_SHARE) * _share(text, found))
            hits.append(Hit("fact", pk, best.chat, text, round(score, 4), best.created_at, tuple(citations)))
    return hits


def _share(text: str, found: Found) -> float:
    """How much of the question, by rarity, is in the text: 0…1."""
    said = set(content(text))
    whole = sum(found.rarities.values())
    return sum(value for word, value in found.rarities.items() if word in said) / whole if whole else 0.0
