"""Judge how much a bank has to say about a message: nothing, or a share of the tokens that notes may have. Pure.

The ranking cannot tell: some turn is always the best one, even for "write a haiku". The constants were chosen on
development projects and checked on other messages (docs/decisions/0048); the results are flat around them.
"""

import math
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from memorybank.reading.recall.ranking import IndexedTurn

#: Rare words say more about what a message is about, but a word that half of a project's turns have is often what the
#: project is about: half of the idf's contrast serves both.
IDF_POWER = 0.5
#: Weight, relative to the rarest word, of a word that nobody ever used, because a message with such words is probably
#: about something else; and of the name of somebody who spoke, because nobody names them by chance.
DECISIVE_FACTOR = 1.5
#: The share of a message's words that one place has by chance is this times the natural logarithm of the number of
#: turns: a longer history has more of any message's words.
CHANCE_SHARE = 0.035
#: Notes get no tokens at the share of chance, all tokens at this much above it, and a linear part between.
FULL_SHARE_ABOVE_CHANCE = 0.12


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


def relevance(share: float, total: int) -> float:
    """The share of the budget for notes, 0…1, by the :func:`covered_share` in ``total`` turns.

    Similarity of meaning is ignored: measured, the turn nearest to "write a haiku" stands out as far as a question's.
    """
    above_chance = share - CHANCE_SHARE * math.log(max(1, total))
    return max(0.0, min(1.0, above_chance / FULL_SHARE_ABOVE_CHANCE))
