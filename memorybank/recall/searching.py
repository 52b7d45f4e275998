"""A question → the turns of a bank that answer it, best first."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Max, Min, OuterRef, Subquery

from .. import dates
from ..models import Bank, Chat, SearchDocument
from . import index, ranking, vectors
from .ranking import Turn
from .words import When, asked, hashed, whens

#: Turns looked at closely. The rest shares too little with the question.
CLOSELY = 120


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the index understands it. ``rarities`` go with ``words``; 0…1 of ``dates``: how exact they are."""

    text: str
    words: tuple[str, ...]
    dates: tuple[str, ...] = ()
    exact: tuple[float, ...] = ()


@dataclass(slots=True)
class Found:
    """Turns with their scores, best first, and how rare each word of the question is in this bank."""

    ranked: list[tuple[int, float]] = field(default_factory=list)
    rarities: dict[str, float] = field(default_factory=dict)


def understood(bank: Bank, question: str, now: datetime | None) -> Question:
    """The words and dates of a question; "yesterday" is read against ``now`` in the bank's zone."""
    absolute = dates.resolve(question, now.astimezone(bank.tz).date()) if now else question
    named = sorted(whens(absolute), key=When.word)
    return Question(
        question, tuple(asked(question)), tuple(when.word() for when in named), tuple(map(_exactness, named))
    )


def _exactness(when: When) -> float:
    """A day says more than a month, a month more than a year."""
    return 1.0 if when.day else 0.5 if when.month else 0.25


def search(bank: Bank, question: Question, *, without: Chat | None, most: int) -> Found:
    """The ``most`` best turns. One query for the words, two for the turns, one for vectors if there are any."""
    hashes = [hashed(bank.pk, word) for word in (*question.words, *question.dates)]
    postings = index.postings(bank.pk, hashes, without_chat=without.pk if without else None)
    by_word, by_date = postings[: len(question.words)], postings[len(question.words) :]
    total = SearchDocument.objects.filter(bank=bank).count() if postings else 0
    rarities = [ranking.rarity(len(found), total) for found in by_word]
    dated = _dated(by_date, question.exact)
    worth = [ranking.rarity(len(found), total) for found in by_date]
    near = ranking.shortlist([*by_word, *by_date], [*rarities, *worth], max(CLOSELY, most))
    cosines = vectors.cosines(bank, question.text, without=without)
    near = list(dict.fromkeys([*near, *sorted(cosines, key=lambda pk: -cosines[pk])[:CLOSELY]]))
    turns = _turns(bank, near, hashes[: len(question.words)])
    scored = ranking.scores(turns, rarities, dated=dated, cosines=cosines)
    ranked = sorted((hit for hit in scored.items() if hit[1] > 0), key=lambda hit: (-hit[1], -hit[0]))
    return Found(ranked[:most], dict(zip(question.words, rarities, strict=True)))


def _dated(postings: Sequence[Sequence[int]], exact: Sequence[float]) -> dict[int, float]:
    """How well each turn meets the dates of the question, 0…1."""
    met: dict[int, float] = {}
    for found, value in zip(postings, exact, strict=True):
        for pk in found:
            met[pk] = max(met.get(pk, 0.0), value)
    return met


def _turns(bank: Bank, near: Sequence[int], hashes: Sequence[str]) -> list[Turn]:
    """The turns with their neighbours, and the neighbours with what we know of theirs."""
    rows = _rows(bank, near)
    known = {row[0] for row in rows}
    links: dict[int, list[int | None]] = {row[0]: [row[3], row[4]] for row in rows}
    for pk, _, _, before, after in rows:
        if before and before not in known:
            links.setdefault(before, [None, None])[1] = pk
        if after and after not in known:
            links.setdefault(after, [None, None])[0] = pk
    rows += _rows(bank, [pk for pk in links if pk not in known], neighbours=False)
    return [Turn(pk, tuple(map(words.split().count, hashes)), length, *links[pk]) for pk, words, length, _, _ in rows]


Row = tuple[int, str, int, int | None, int | None]


def _rows(bank: Bank, near: Sequence[int], *, neighbours: bool = True) -> list[Row]:
    documents = SearchDocument.objects.filter(bank=bank, pk__in=near)
    if not neighbours:
        return [(pk, words, length, None, None) for pk, words, length in documents.values_list("pk", "words", "length")]
    same_chat = SearchDocument.objects.filter(chat=OuterRef("chat")).order_by().values("chat")
    before = same_chat.filter(pk__lt=OuterRef("pk")).annotate(at=Max("pk")).values("at")
    after = same_chat.filter(pk__gt=OuterRef("pk")).annotate(at=Min("pk")).values("at")
    linked = documents.annotate(before=Subquery(before), after=Subquery(after))
    return list(linked.values_list("pk", "words", "length", "before", "after"))
