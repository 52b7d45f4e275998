"""Judge how much a bank has to say about a message: nothing, or a share of the tokens that notes may have. Pure.

Absolute, unlike the ranking: some turn is always the best one, also for "write a haiku". The constants were chosen on
development projects and checked on other messages (docs/decisions/0048); the results are flat around them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from memorybank.reading.recall.ranking import IndexedTurn

#: Rare words say more about what a message is about, but a word that half of a project's turns have is often what the
#: project is about: half of the idf's contrast serves both.
IDF_POWER = 0.5
#: How much more than the rarest word these count: a word that nobody ever used, because a message with such words is
#: probably about something else; and the name of somebody who spoke, because naming them is no chance.
DECISIVE_FACTOR = 1.5
#: The share of a message that meets in one place by chance, divided by the logarithm of the number of turns: a longer
#: history has more of any message's words.
CHANCE_SHARE = 0.035
#: From chance to this share above it, tokens grow from none to all.
FULL_SHARE_ABOVE_CHANCE = 0.12
#: Cosines of fewer turns have no meaningful deviation: whatever is nearest counts.
MIN_COMPARED_COSINES = 20
#: The nearest of n ordinary turns stands √(2 ln n) deviations above their mean. From that to this factor of it, tokens
#: grow from none to all.
FULL_DEVIATION_FACTOR = 1.5


class Term(NamedTuple):
    """A word or date of a message: its weight, and the turns that have it."""

    weight: float
    turns: Set[int]


def covered_share(terms: Sequence[Term], turns: Iterable[IndexedTurn]) -> float:
    """The largest share of the message that a turn and its two neighbours have together, 0…1, by the terms' weights.

    Unknown words count against it: a message whose rarest words nobody ever used is about something else.
    """
    candidates = list(turns)
    ids = {turn.id for turn in candidates}
    terms_of: dict[int, set[int]] = {}
    for number, term in enumerate(terms):
        for turn in ids & term.turns:
            terms_of.setdefault(turn, set()).add(number)
    nothing: set[int] = set()
    together = (
        terms_of.get(turn.id, nothing).union(
            terms_of.get(turn.previous or 0, nothing), terms_of.get(turn.following or 0, nothing)
        )
        for turn in candidates
    )
    best = max((sum(terms[number].weight for number in numbers) for numbers in together), default=0.0)
    return best / (sum(term.weight for term in terms) or 1.0)


def relevance(share: float, total: int, cosines: Mapping[int, float]) -> float:
    """The share of the budget for notes, 0…1, by the :func:`covered_share` in ``total`` turns, or by meaning."""
    above_chance = share - CHANCE_SHARE * math.log(max(1, total))
    return max(0.0, min(1.0, max(above_chance / FULL_SHARE_ABOVE_CHANCE, _distinction(cosines))))


def _distinction(cosines: Mapping[int, float]) -> float:
    """How far the nearest turn stands above what is ordinary in this bank: 0 as far as by chance, 1 far beyond.

    Models differ in the cosine of unrelated texts and in its spread, so both are the bank's own.
    """
    count = len(cosines)
    if count < MIN_COMPARED_COSINES:
        return float(count > 0)
    mean = sum(cosines.values()) / count
    deviation = math.sqrt(sum((cosine - mean) ** 2 for cosine in cosines.values()) / count)
    if not deviation:
        return 0.0
    factor = (max(cosines.values()) - mean) / deviation / math.sqrt(2 * math.log(count))
    return (factor - 1) / (FULL_DEVIATION_FACTOR - 1)
