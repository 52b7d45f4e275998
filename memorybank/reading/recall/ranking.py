"""Score how well a turn answers a question: BM25 with neighbours, dates and similarity. Pure; same on every database.

The weights were chosen by measurement on development dialogues (docs/decisions/0017); the results are flat around them.
Neighbours count because an answer seldom repeats the words of the question before it.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

#: BM25: how soon repetitions of a word stop counting, and how much long turns are discounted.
BM25_K1, BM25_B = 1.2, 0.4
#: What a turn inherits from the turn before it and from the one after it.
PREVIOUS_TURN_WEIGHT, NEXT_TURN_WEIGHT = 0.6, 0.1
#: The score of a turn for a date of the question, relative to the best turn's words.
DATE_WEIGHT = 0.4
#: The score of a turn if the question names its speaker: enough to be found by that alone.
SPEAKER_WEIGHT = 0.02
#: Weight of the similarity of meaning (0…1), relative to the best turn's words.
SIMILARITY_WEIGHT = 0.5
#: A mention this many turns away from a turn counts 1/e in its passage.
PASSAGE_REACH_TURNS = 8
#: BM25's saturation in a passage: from about this many nearby mentions on, another one adds little.
MENTION_SATURATION = 0.5


class IndexedTurn(NamedTuple):
    """A candidate as the ranking sees it: how often it has each word of the question, and its neighbours."""

    id: int
    counts: tuple[int, ...]
    length: int
    previous: int | None = None
    following: int | None = None


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines (−1…1) of a question with some turns, and their mean and maximum over all turns of the bank."""

    cosines: Mapping[int, float] = field(default_factory=dict)
    ordinary: float = 0.0
    nearest: float = 0.0

    def relative(self) -> dict[int, float]:
        """Cosines scaled: 0 for the bank's average turn or worse, 1 for the nearest.

        The cosine of unrelated texts depends on the model: .05 or .75. If all turns are equally near, all are 1.
        """
        spread = self.nearest - self.ordinary
        if spread <= 0:
            return dict.fromkeys(self.cosines, 1.0)
        return {pk: max(0.0, cosine - self.ordinary) / spread for pk, cosine in self.cosines.items()}


def idf(matching: int, total: int) -> float:
    """BM25's inverse document frequency, above 0, of a word that ``matching`` of ``total`` turns have.

    Turns may be indexed after the total was counted, so ``matching`` may be larger.
    """
    return math.log(1 + (max(0, total - matching) + 0.5) / (matching + 0.5))


def shortlist(postings: Sequence[Sequence[int]], idfs: Sequence[float], limit: int) -> list[int]:
    """The ``limit`` promising turns by the idf of the words they have, best first, then newest."""
    sums: dict[int, float] = {}
    for turns, value in zip(postings, idfs, strict=True):
        for turn in turns:
            sums[turn] = sums.get(turn, 0.0) + value
    return sorted(sums, key=lambda turn: (-sums[turn], -turn))[:limit]


def scores(
    turns: Iterable[IndexedTurn],
    idfs: Sequence[float],
    *,
    dated: Mapping[int, float],
    spoken: Collection[int],
    near: Mapping[int, float],
) -> dict[int, float]:
    """Each turn's score; 1 is about what the words of the best turn earn. ``dated`` is 0…1.

    ``spoken`` are the turns whose speaker the question names. ``near`` says how similar in meaning turns are, 0…1.
    """
    known = {turn.id: turn for turn in turns}
    average = sum(turn.length for turn in known.values()) / max(1, len(known)) or 1.0
    own = {turn.id: _bm25(turn, idfs, average) for turn in known.values()}
    whole = {pk: _with_neighbours(turn, own) for pk, turn in known.items()}
    best = max(whole.values(), default=0.0) or 1.0
    return {
        pk: value / best
        + DATE_WEIGHT * dated.get(pk, 0.0)
        + SPEAKER_WEIGHT * (pk in spoken)
        + SIMILARITY_WEIGHT * near.get(pk, 0.0)
        for pk, value in whole.items()
    }


def passage_scores(
    chats: Iterable[Sequence[int]], postings: Sequence[Sequence[int]], idfs: Sequence[float]
) -> dict[int, float]:
    """How much of the question is mentioned around each turn, 0…1; each of ``chats`` lists its turns in order.

    The answer to a broad question may take several turns, but they lie close together, where the question's words
    occur. The score is BM25 of a window that fades out to both sides.
    """
    words = [(frozenset(turns), value) for turns, value in zip(postings, idfs, strict=True)]
    around: dict[int, float] = {}
    for turns in chats:
        mentioned = [(having, value) for having, value in words if not having.isdisjoint(turns)]
        nearby = [(_fade_both_ways([float(turn in having) for turn in turns]), value) for having, value in mentioned]
        for place, turn in enumerate(turns):
            around[turn] = sum(value * near[place] / (near[place] + MENTION_SATURATION) for near, value in nearby)
    highest = max(around.values(), default=0.0) or 1.0
    return {turn: value / highest for turn, value in around.items()}


def _fade_both_ways(counts: Sequence[float]) -> list[float]:
    """Each count plus those on both sides, fading with distance."""
    # Two passes, one from each side, so a wider window costs no more.
    ahead, behind = (_fade_forward(side) for side in (counts, counts[::-1]))
    return [before + after - own for before, after, own in zip(ahead, behind[::-1], counts, strict=True)]


def _fade_forward(counts: Iterable[float]) -> list[float]:
    fade = math.exp(-1 / PASSAGE_REACH_TURNS)
    return list(accumulate(counts, lambda total, count: total * fade + count))


def _bm25(turn: IndexedTurn, idfs: Sequence[float], average: float) -> float:
    """BM25 of the turn alone."""
    damping = BM25_K1 * (1 - BM25_B + BM25_B * turn.length / average)
    pairs = zip(turn.counts, idfs, strict=True)
    return sum(value * count * (BM25_K1 + 1) / (count + damping) for count, value in pairs if count)


def _with_neighbours(turn: IndexedTurn, own: Mapping[int, float]) -> float:
    before = own.get(turn.previous, 0.0) if turn.previous else 0.0
    after = own.get(turn.following, 0.0) if turn.following else 0.0
    return own[turn.id] + PREVIOUS_TURN_WEIGHT * before + NEXT_TURN_WEIGHT * after
