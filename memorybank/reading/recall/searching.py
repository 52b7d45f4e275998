"""A question → the turns of a bank that answer it, best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice

from memorybank.language import dates
from memorybank.models import Bank, Chat, SearchDocument
from memorybank.reading.recall import index, ranking, vectors
from memorybank.reading.recall.index_terms import (
    NAME,
    SPEAKER,
    PartialDate,
    about,
    asked,
    hashed,
    is_broad,
    partial_dates,
    searched,
)
from memorybank.reading.recall.index_terms import names as names_in
from memorybank.reading.recall.ranking import IndexedTurn

#: Turns looked at closely, at least. The rest shares too little with the question.
CLOSELY = 40
#: Passages are looked for in the chats of so many best turns, in so many turns at most, the newest.
BEST, MOST_AROUND = 60, 20_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the index understands it. ``names`` may be somebody's; ``exact``, 0…1, goes with ``dates``."""

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    exact: tuple[float, ...] = ()
    broad: bool = False


@dataclass(slots=True)
class Found:
    """Turns with their scores, best first; of each word of the question how rare it is in this bank, and where.

    ``names`` are those of the question that are the whole name of somebody who spoke.
    """

    ranked: list[tuple[int, float]] = field(default_factory=list)
    idfs: dict[str, float] = field(default_factory=dict)
    postings: list[list[int]] = field(default_factory=list)
    names: frozenset[str] = frozenset()


def parsed(bank: Bank, question: str, now: datetime | None) -> Question:
    """The words and dates a question is about; "yesterday" is read against ``now`` in the bank's zone."""
    absolute = dates.resolve(question, now.astimezone(bank.tz).date(), replace=True) if now else question
    named = sorted(partial_dates(absolute), key=PartialDate.word)
    when = tuple(each.word() for each in named)
    words, names = about(absolute), names_in(question)
    return Question(question, tuple(words), tuple(names), when, tuple(map(_exactness, named)), is_broad(absolute))


def _exactness(when: PartialDate) -> float:
    """A day says more than a month, a month more than a year."""
    return 1.0 if when.day else 0.5 if when.month else 0.25


def search(bank: Bank, question: Question, *, without: Chat | None, most: int) -> Found:
    """The ``most`` best turns. One query for the words, two for the turns, one for vectors if there are any."""
    looked_for = (*question.words, *question.dates, *(name + NAME for name in question.names))
    hashes = [hashed(bank.pk, word) for word in looked_for]
    postings = index.postings(bank.pk, hashes, without_chat=without.pk if without else None)
    cosines = vectors.cosines(bank, question.text, without=without)
    if not (any(postings) or cosines):
        return Found()
    each = iter(postings)
    by_word, by_date = (list(islice(each, len(some))) for some in (question.words, question.dates))
    by_name = {name: found for name, found in zip(question.names, each, strict=True) if found}
    total = SearchDocument.objects.filter(bank=bank).count()
    idfs = _idfs(dict(zip(question.words, by_word, strict=True)), by_name, total)
    dated = _dated(by_date, question.exact)
    others = [*by_date, *by_name.values()]
    closely = max(CLOSELY, most)
    worth = [*idfs, *(ranking.idf(len(found), total) for found in others)]
    near = ranking.shortlist([*by_word, *others], worth, closely)
    near = list(dict.fromkeys([*near, *sorted(cosines, key=lambda pk: -cosines[pk])[:closely]]))
    turns = _turns(bank, near, hashes[: len(question.words)])
    spoken = frozenset(chain.from_iterable(by_name.values()))
    scored = ranking.scores(turns, idfs, dated=dated, spoken=spoken, cosines=cosines)
    ranked = sorted((hit for hit in scored.items() if hit[1] > 0), key=lambda hit: (-hit[1], -hit[0]))
    return Found(ranked[:most], dict(zip(question.words, idfs, strict=True)), by_word, frozenset(by_name))


def around(bank: Bank, found: Found) -> dict[int, float]:
    """How much of the question is spoken of around the turns of the best turns' chats, 0…1. One query."""
    best = SearchDocument.objects.of(bank).filter(pk__in=[pk for pk, _ in found.ranked[:BEST]])
    # Newest first, so that what is left out of an endless chat is its beginning.
    known = SearchDocument.objects.of(bank).filter(chat__in=best.values("chat")).order_by("-sequence")
    chats: dict[int, list[int]] = {}
    for chat, pk in known.values_list("chat", "pk")[:MOST_AROUND]:
        chats.setdefault(chat, []).append(pk)
    return ranking.passages([turns[::-1] for turns in chats.values()], found.postings, list(found.idfs.values()))


def mentioning(bank: Bank, texts: Iterable[str], *, most: int) -> set[int]:
    """Ids of chats with a turn that has all words and dates of one of the texts: of each the ``most`` newest turns.

    A turn has the name of who speaks in it, too. A text without a word that is indexed is in no turn that could be
    found. Two queries.
    """
    phrases = [
        [
            *([hashed(bank.pk, word), hashed(bank.pk, word + SPEAKER)] for word in asked(text)),
            *([hashed(bank.pk, date.word())] for date in partial_dates(text)),
        ]
        for text in texts
    ]
    turns = set(chain.from_iterable(index.newest([phrase for phrase in phrases if phrase], most)))
    return set(SearchDocument.objects.of(bank).filter(pk__in=turns).values_list("chat_id", flat=True))


def _idfs(by_word: Mapping[str, Sequence[int]], by_name: Mapping[str, Sequence[int]], total: int) -> list[float]:
    """How rare each word is; a name also stands where that person speaks, or it would be rare in their own chats."""
    spoken: dict[str, set[int]] = {}
    for name, found in by_name.items():
        for word in searched(name):
            spoken.setdefault(word, set()).update(found)
    return [ranking.idf(len(spoken.get(word, set()).union(found)), total) for word, found in by_word.items()]


def _dated(postings: Sequence[Sequence[int]], exact: Sequence[float]) -> dict[int, float]:
    """How well each turn meets the dates of the question, 0…1."""
    met: dict[int, float] = {}
    for found, value in zip(postings, exact, strict=True):
        for pk in found:
            met[pk] = max(met.get(pk, 0.0), value)
    return met


def _turns(bank: Bank, near: Sequence[int], hashes: Sequence[str]) -> list[IndexedTurn]:
    """The turns with the turn before and the turn after each."""
    documents = SearchDocument.objects.of(bank).values_list("pk", "words", "length", "previous")
    found = [*documents.filter(pk__in=near), *documents.filter(previous__in=near)]  # an "or" would use no index
    before = {row[3] for row in found if row[3]} - {row[0] for row in found}
    rows = set(found).union(documents.filter(pk__in=before) if before else ())
    following = {row[3]: row[0] for row in rows if row[3]}
    return [
        IndexedTurn(pk, _counts(words, hashes), length, previous, following.get(pk))
        for pk, words, length, previous in rows
    ]


def _counts(words: str, hashes: Sequence[str]) -> tuple[int, ...]:
    """How often each index word is among a document's."""
    each = words.split(" ")
    return tuple(map(each.count, hashes))
