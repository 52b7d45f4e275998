"""How well a turn answers a question: BM25 with its neighbours and dates. Pure, the same on every database.

The weights were chosen by measurement on development dialogues (docs/decisions/0017); the results are flat
around them. Neighbours count because an answer seldom repeats the words of the question before it.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

#: BM25: how soon repeating a word stops counting, and how much long turns are discounted.
K1, B = 1.2, 0.4
#: What a turn inherits from the turn before it and from the one after it.
PREVIOUS, NEXT = 0.6, 0.1
#: What a turn gets for a date of the question, as a share of the best turn's words.
DATED = 0.4
#: What it gets for being spoken by somebody the question names: enough to be found by that alone.
SPOKEN = 0.02
#: Similarity of meaning (0…1) beside words (a share of the best turn's, 0…1).
MEANING = 0.5
#: How far around a turn its passage reaches: what is so many turns away counts 1/e; and after how many mentions
#: close by another one hardly counts.
REACH, MENTIONS = 8, 0.5


@dataclass(frozen=True, slots=True)
class IndexedTurn:
    """A candidate as the ranking sees it: how often it has each asked word, and who its neighbours are."""

    id: int
    counts: tuple[int, ...]
    length: int
    previous: int | None = None
    following: int | None = None


def idf(found: int, total: int) -> float:
    """How rare a word is that ``found`` of ``total`` turns have, as BM25 has it."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def shortlist(postings: Sequence[Sequence[int]], idfs: Sequence[float], most: int) -> list[int]:
    """The ``most`` promising turns by the idf of the words they have, best first, then newest."""
    worth: dict[int, float] = {}
    for found, value in zip(postings, idfs, strict=True):
        for turn in found:
            worth[turn] = worth.get(turn, 0.0) + value
    return sorted(worth, key=lambda turn: (-worth[turn], -turn))[:most]


def scores(
    turns: Iterable[IndexedTurn],
    idfs: Sequence[float],
    *,
    dated: Mapping[int, float],
    spoken: Collection[int],
    cosines: Mapping[int, float],
) -> dict[int, float]:
    """Each turn's score; 1 is about what the words of the best turn earn. ``dated`` is 0…1.

    ``spoken`` are those spoken by somebody the question names. ``cosines`` are of all turns that have a vector, not
    only of ``turns``.
    """
    known = {turn.id: turn for turn in turns}
    average = sum(turn.length for turn in known.values()) / max(1, len(known)) or 1.0
    own = {turn.id: _words(turn, idfs, average) for turn in known.values()}
    whole = {pk: _with_neighbours(turn, own) for pk, turn in known.items()}
    best = max(whole.values(), default=0.0) or 1.0
    near = nearness(cosines)
    return {
        pk: value / best + DATED * dated.get(pk, 0.0) + SPOKEN * (pk in spoken) + MEANING * near.get(pk, 0.0)
        for pk, value in whole.items()
    }


def passages(
    chats: Iterable[Sequence[int]], postings: Sequence[Sequence[int]], idfs: Sequence[float]
) -> dict[int, float]:
    """How much of the question is spoken of around each turn, 0…1; ``chats`` are their turns in order.

    What answers a broad question lies together in one place, where its words meet, if not in one turn. It is BM25 of
    a window that fades out to both sides.
    """
    having = [(frozenset(found), value) for found, value in zip(postings, idfs, strict=True)]
    around: dict[int, float] = {}
    for turns in chats:
        nearby = [(_faded([float(turn in found) for turn in turns]), value) for found, value in having]
        for place, turn in enumerate(turns):
            around[turn] = sum(value * near[place] / (near[place] + MENTIONS) for near, value in nearby)
    most = max(around.values(), default=0.0) or 1.0
    return {turn: value / most for turn, value in around.items()}


def _faded(counts: Sequence[float]) -> list[float]:
    """Each count with those to both sides, the farther the less."""
    # Two passes, one from each side: a window of any reach costs the same.
    ahead, behind = (_trailing(each) for each in (counts, counts[::-1]))
    return [before + after - own for before, after, own in zip(ahead, behind[::-1], counts, strict=True)]


def _trailing(counts: Iterable[float]) -> list[float]:
    fade = math.exp(-1 / REACH)
    return list(accumulate(counts, lambda total, count: total * fade + count))


def nearness(cosines: Mapping[int, float]) -> dict[int, float]:
    """Cosines as 0 for the ordinary turn of the bank or worse, 1 for the nearest.

    Models differ in what they give unrelated texts: .05, or .75. If all are equally near, all are 1.
    """
    ordinary, nearest = fmean(cosines.values() or [0.0]), max(cosines.values(), default=0.0)
    if nearest <= ordinary:
        return dict.fromkeys(cosines, 1.0)
    return {pk: max(0.0, cosine - ordinary) / (nearest - ordinary) for pk, cosine in cosines.items()}


def _words(turn: IndexedTurn, idfs: Sequence[float], average: float) -> float:
    """BM25 of the turn alone."""
    damping = K1 * (1 - B + B * turn.length / average)
    pairs = zip(turn.counts, idfs, strict=True)
    return sum(value * count * (K1 + 1) / (count + damping) for count, value in pairs if count)


def _with_neighbours(turn: IndexedTurn, own: Mapping[int, float]) -> float:
    before = own.get(turn.previous, 0.0) if turn.previous else 0.0
    after = own.get(turn.following, 0.0) if turn.following else 0.0
    return own[turn.id] + PREVIOUS * before + NEXT * after
