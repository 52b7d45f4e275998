"""Ranked hits for people and programs: turns as memory would show them, and the facts made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Q

from ..models import Bank, Chat, Fact, Granularity, SearchDocument
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
    scores = dict(found.ranked)
    documents = _documents(bank, scores)
    turns = [
        Hit("output", row.pk, row.chat.key, shown(row.lines), round(scores[row.pk], 4), row.said_at, (row.pk,))
        for row in documents
    ]
    facts = _facts(bank, documents, found)
    ranked = sorted([*turns, *facts], key=lambda hit: (-hit.score, hit.kind == "fact", -hit.pk))
    return ranked[:top]


def _documents(bank: Bank, ids: Iterable[int]) -> list[SearchDocument]:
    """The turns with what may be shown of them; a chat that has just become private has none."""
    rows = SearchDocument.objects.filter(bank=bank, pk__in=list(ids), chat__private=False)
    return list(rows.select_related("chat").defer("words"))


def _facts(bank: Bank, documents: Sequence[SearchDocument], found: Found) -> list[Hit]:
    """The visible leaf facts that cite these turns."""
    if not documents:
        return []
    scores = dict(found.ranked)
    chats = {row.pk: row.chat.key for row in documents}
    covering = Q()
    for row in documents:
        covering |= Q(entry__chat=row.chat_id, entry__first_output__lte=row.pk, entry__last_output__gte=row.pk)
    facts = Fact.objects.shareable().filter(covering, entry__bank=bank, entry__granularity=Granularity.CONVERSATION)
    hits = []
    for fact in facts.only("text", "citations").order_by():
        cited = [pk for pk in fact.citations if pk in chats]
        if cited:
            best = max(cited, key=lambda pk: scores[pk])
            score = scores[best] * (FACT_SHARE + (1 - FACT_SHARE) * _share(fact.text, found))
            row = next(row for row in documents if row.pk == best)
            hits.append(
                Hit("fact", fact.pk, chats[best], fact.text, round(score, 4), row.said_at, tuple(fact.citations))
            )
    return hits


def _share(text: str, found: Found) -> float:
    """How much of the question, by rarity, is in the text: 0…1."""
    said = set(content(text))
    whole = sum(found.rarities.values())
    return sum(value for word, value in found.rarities.items() if word in said) / whole if whole else 0.0
