"""What makes a block good: the gain of each choice, and the constraints on all of them together.

A block is the set of facts that gains most, where a fact gains its prior worth × the idf of the words it adds ×
how little its chat has been heard × how little of its turns was told in another kind of words. What was shown before
adds less, so gains only fall, and a greedy choice by gain per token comes close to the best. A fact that has
replaced another has the whole prior, and all its words are new: those of "moved from 1 to 15 September" may stand in
the block, with what is over. It keeps to four constraints:

- budget: the whole text, with dates, speakers and headings, has at most so many tokens;
- pinned: what people pinned comes first, as much of it as fits;
- stable prefix: what comes next is chosen from the history up to a checkpoint, which moves when the history has
  grown by ``CHECKPOINT_GROWTH``. So a provider's prompt cache keeps most of the block (median .82 of its bytes), at no
  cost that could be measured;
- quota: every tier that has anything to say gets a part of the budget, whatever the others could gain with it.
"""

from collections.abc import Iterable
from itertools import accumulate, takewhile

# Measured on development data; the result is flat around each of these values. Powers of what is new and of the
# cost, and pairs of words as concepts of their own, gained nothing.
REPEATED_WORD_FACTOR, UNHEARD_CHAT_FACTOR, CROWDED_CHAT_PENALTY = 0.4, 2.0, 0.06
# What is left of a fact's gain once its turns were told in the other kind of words, a model's or their own: new words
# of the same say nothing new.
RETOLD_TURN_FACTOR = 0.1
# The share of the budget that is chosen from the history up to the checkpoint; the rest follows every new chat.
CHECKPOINT_GROWTH, STABLE_SHARE = 1.25, 0.88
# A quota is no more than this part of the tier's facts: most of a leaf is detail, and what is worth the room of
# other tiers is the best of it.
QUOTA_SHARE, MAX_QUOTA_TIER_SHARE = 0.1, 0.25
# The reserve is at least this share of the budget.
RESERVE_SHARE = 0.2


def novelty(idf: float, times: int) -> float:
    """What a word adds that was shown so many times."""
    return idf * REPEATED_WORD_FACTOR**times if times else idf


def gain(weight: float, new: float, heard: int, retold: float, cost: int) -> float:
    """What a fact gains a token; ``new`` is what its words add, ``heard`` how many facts of its chat are shown,
    ``retold`` the share of its turns that the other kind of facts has told.
    """
    spread = 1 / (1 + CROWDED_CHAT_PENALTY * heard) if heard else UNHEARD_CHAT_FACTOR
    return weight * new / cost * spread * (RETOLD_TURN_FACTOR**retold if retold else 1)


def share(budget: int) -> int:
    """The tokens of a quota at most."""
    return int(budget * QUOTA_SHARE)


def quota(budget: int, available: int) -> int:
    """The tokens that a tier gets at least which has facts of ``available`` tokens."""
    return min(share(budget), int(available * MAX_QUOTA_TIER_SHARE))


def stable_room(room: int) -> int:
    """How much of the room is for what stays the same, once there is more than fits."""
    return int(room * STABLE_SHARE)


def reserved(budget: int, most: int) -> int:
    """The tokens in reserve: as many as any one chat has in the block, which may have to be replaced."""
    return max(most, int(budget * RESERVE_SHARE))


def checkpoint(total: int, room: int) -> float:
    """How much of a history of ``total`` tokens the stable section is chosen from: all of it, while all fits."""
    level = room * STABLE_SHARE
    if total <= level or level <= 0:
        return total
    while level * CHECKPOINT_GROWTH <= total:
        level *= CHECKPOINT_GROWTH
    return level


def reached(costs: Iterable[int], level: float) -> int:
    """How many of the first costs stay within ``level`` together."""
    return sum(1 for _ in takewhile(lambda total: total <= level, accumulate(costs)))
