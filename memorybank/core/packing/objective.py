"""The objective of a block: the gain of each fact, and the constraints on all of them together.

A block is the set of facts with the highest total gain. The gain of a fact is the product of its prior weight, the idf
of the words that it adds, a factor that falls with the lines its chat already has, and one that falls with the share of
its turns that facts of the other kind (written, quoted) cover. Words and chats that are already in the block add less,
so gains only fall (the objective is submodular), and a greedy choice by gain per token comes close to the optimum. A
fact that replaced another has the full prior, and all its words count as new, so that "moved from 1 to 15 September"
can be in the block beside the old date. The four constraints are:

- budget: the whole text, with dates, speakers and headings, has at most so many tokens;
- pinned: pinned facts come first, as many as fit;
- stable prefix: the next facts are chosen from the history up to a checkpoint, which moves when the history has
  grown by ``CHECKPOINT_GROWTH``. So a provider's prompt cache keeps most of the block (median .82 of its bytes), at no
  measurable cost;
- quota: every tier that has facts gets a minimum share of the budget, even if other tiers would gain more.
"""

from collections.abc import Iterable
from itertools import accumulate, takewhile

# Measured on development data; the result is flat around each of these values. Exponents on novelty and cost, and
# word pairs as concepts, improved nothing.
REPEATED_WORD_FACTOR, UNHEARD_CHAT_FACTOR, CROWDED_CHAT_PENALTY = 0.4, 2.0, 0.06
# The factor on a fact's gain once its turns are covered by facts of the other kind (written, quoted): other words for
# the same turn say nothing new.
RETOLD_TURN_FACTOR = 0.1
# By how much the history grows until the checkpoint moves; and the share of the budget for facts before it.
CHECKPOINT_GROWTH, STABLE_SHARE = 1.25, 0.88
# A tier's quota as a share of the budget; and its limit as a share of the tier's facts, because most of a leaf is
# detail, and only the best of it should displace facts of other tiers.
QUOTA_SHARE, MAX_QUOTA_TIER_SHARE = 0.1, 0.25
# The minimum of the reserve, as a share of the budget.
RESERVE_SHARE = 0.2


def novelty(idf: float, times: int) -> float:
    """The gain of a word that is already shown ``times`` times."""
    return idf * REPEATED_WORD_FACTOR**times if times else idf


def gain(weight: float, new: float, heard: int, retold: float, cost: int) -> float:
    """The gain per token. ``new`` is the novelty of its words, ``heard`` the number of shown facts of its chat,
    ``retold`` the share of its turns that facts of the other kind cover.
    """
    spread = 1 / (1 + CROWDED_CHAT_PENALTY * heard) if heard else UNHEARD_CHAT_FACTOR
    return weight * new / cost * spread * (RETOLD_TURN_FACTOR**retold if retold else 1)


def share(budget: int) -> int:
    """The maximum of a quota in tokens."""
    return int(budget * QUOTA_SHARE)


def quota(budget: int, available: int) -> int:
    """The minimum tokens of a tier whose facts have ``available`` tokens."""
    return min(share(budget), int(available * MAX_QUOTA_TIER_SHARE))


def stable_room(room: int) -> int:
    """The tokens of the stable section, once the history does not fit as a whole."""
    return int(room * STABLE_SHARE)


def reserve_tokens(budget: int, largest_chat_tokens: int) -> int:
    """Tokens of the reserve: those of the chat with the largest part of the block, but at least RESERVE_SHARE."""
    return max(largest_chat_tokens, int(budget * RESERVE_SHARE))


def checkpoint(total: int, room: int) -> float:
    """How many of a history's ``total`` tokens the stable section is chosen from: all while they fit."""
    level = room * STABLE_SHARE
    if total <= level or level <= 0:
        return total
    while level * CHECKPOINT_GROWTH <= total:
        level *= CHECKPOINT_GROWTH
    return level


def reached(costs: Iterable[int], level: float) -> int:
    """How many of the first costs add up to at most ``level``."""
    return sum(1 for _ in takewhile(lambda total: total <= level, accumulate(costs)))
