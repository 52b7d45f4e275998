"""Filling a room with the choices that gain most, and what has been said by those made so far."""

import heapq
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from memorybank.core.memory_line import MemoryLine
from memorybank.core.packing import objective
from memorybank.core.packing.items import Item

ItemT = TypeVar("ItemT", bound=Item[Any])
ItemT_contra = TypeVar("ItemT_contra", bound=Item[Any], contravariant=True)


class Objective(Protocol[ItemT_contra]):
    """What filling is for, given all that has been chosen."""

    def gain(self, item: ItemT_contra) -> float:
        """What it gains a token. It never rises while more is chosen."""

    def price(self, item: ItemT_contra) -> int:
        """About how many tokens it costs."""

    def is_said(self, item: ItemT_contra) -> bool:
        """Whether what was chosen says it already."""

    def take(self, item: ItemT_contra) -> None:
        """Choose it."""


def fill(items: Sequence[ItemT], room: int, to: Objective[ItemT], *, least: int | None = None) -> list[ItemT]:
    """The items that gain most in ``room`` tokens, best first; with ``least``, only until that is used.

    Of equal ones the earlier comes first. Gains only fall as more is chosen, so a stale gain is an upper bound and
    most are never computed again.
    """
    heap = [(-to.gain(item), place) for place, item in enumerate(items)]
    heapq.heapify(heap)
    chosen: list[ItemT] = []
    used = 0
    while heap and (least is None or used < least):
        _, place = heapq.heappop(heap)
        item = items[place]
        if to.is_said(item) or used + (price := to.price(item)) > room:
            continue
        # Popped with an old gain: if another now promises more, it goes back with its true one.
        gain = to.gain(item)
        if heap and -gain > heap[0][0]:
            heapq.heappush(heap, (-gain, place))
            continue
        to.take(item)
        chosen.append(item)
        used += price
    return chosen


class Openings:
    """Which paragraphs have begun, and who speaks in them."""

    def __init__(self) -> None:
        self._opened: set[tuple[object, ...]] = set()

    def price(self, item: Item[Any], section: str) -> int:
        """Its tokens, and about how many of date and speaker it would be the first to need."""
        price, line = item.cost, item.line
        # Two tokens are the line break and the space; labels have about three letters a token, names five.
        if (section, item.paragraph) not in self._opened:
            price += 2 + len(line.label) // 3
        if line.speaker and (section, item.paragraph, line.speaker) not in self._opened:
            price += 2 + len(line.speaker) // 5
        return price

    def add(self, item: Item[Any], section: str) -> None:
        """Its paragraph has begun, and its speaker speaks there."""
        self._opened |= {(section, item.paragraph), (section, item.paragraph, item.line.speaker)}


@dataclass(slots=True)
class Selection:
    """What a block says so far: which facts and words, who has been heard, which paragraphs have begun.

    ``turn_counts`` counts the facts of each turn: a model's lines, and its own sentences (True); ``digested`` are the
    turns that digests tell.
    """

    openings: Openings = field(default_factory=Openings)
    words: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    turn_counts: Counter[tuple[int, bool]] = field(default_factory=Counter)
    taken: set[int] = field(default_factory=set)
    restated: set[int] = field(default_factory=set)
    digested: set[int] = field(default_factory=set)
    shown: dict[tuple[str, ...], Item[MemoryLine]] = field(default_factory=dict)

    def take(self, item: Item[MemoryLine], section: str) -> None:
        """Choose the item."""
        self.shown[item.key] = item
        self.taken.update(item.facts)
        self.restated |= item.line.restates
        if item.line.restates:
            self.digested |= item.line.turns
        self.words.update(item.concepts)
        self.heard[item.line.chat] += 1
        self.turn_counts.update((turn, item.line.detail) for turn in item.line.turns)
        self.openings.add(item, section)

    def drop(self, item: Item[MemoryLine]) -> None:
        """Take the choice back."""
        self.shown.pop(item.key, None)
        self.taken.difference_update(item.facts)
        self.restated -= item.line.restates
        self.words.subtract(item.concepts)
        self.heard[item.line.chat] -= 1
        self.turn_counts.subtract((turn, item.line.detail) for turn in item.line.turns)

    def retold(self, fact: MemoryLine) -> float:
        """The share of its turns that facts of the other kind have told."""
        if not fact.turns:
            return 0.0
        return sum(self.turn_counts[turn, not fact.detail] > 0 for turn in fact.turns) / len(fact.turns)

    def repeats(self, item: Item[MemoryLine]) -> bool:
        """Whether the block has one of its facts already, or a digest tells its turns."""
        return self.covers(item.facts, item.line.restates) or self.is_digested(item.line)

    def is_digested(self, line: MemoryLine) -> bool:
        """Whether it is a sentence of turns that the block's digests tell."""
        return line.detail and bool(line.turns) and self.digested.issuperset(line.turns)

    def covers(self, ids: Collection[int], restates: frozenset[int]) -> bool:
        """Whether the block has a fact with these ids: itself, by a digest fact, or by all that it restates."""
        return (
            not self.taken.isdisjoint(ids)
            or not self.restated.isdisjoint(ids)
            or (bool(restates) and all(fact in self.taken or fact in self.restated for fact in restates))
        )

    def unites(self, item: Item[MemoryLine]) -> bool:
        """Whether a shown item says the same but for case and articles; then it stands for both."""
        same = self.shown.get(item.key)
        # One word is no statement: "yes" of two people is two things.
        if same is None or len(item.key) < 2:
            return False
        same.facts += [number for number in item.facts if number not in same.facts]
        self.taken.update(item.facts)
        return True


class InOrder:
    """A section of facts in the order in which they come."""

    def __init__(self, selection: Selection, section: str) -> None:
        self.selection, self.section = selection, section

    def gain(self, item: Item[MemoryLine]) -> float:
        """The same for all."""
        return 0.0

    def price(self, item: Item[MemoryLine]) -> int:
        """With its date and speaker."""
        return self.selection.openings.price(item, self.section)

    def is_said(self, item: Item[MemoryLine]) -> bool:
        """By its id, or in about the same words."""
        return self.selection.repeats(item) or self.selection.unites(item)

    def take(self, item: Item[MemoryLine]) -> None:
        """Choose it for this section."""
        self.selection.take(item, self.section)


class ByGain(InOrder):
    """A section of the facts that gain most."""

    def __init__(self, selection: Selection, section: str, items: Sequence[Item[MemoryLine]]) -> None:
        super().__init__(selection, section)
        self.idf = idf(items)

    def gain(self, item: Item[MemoryLine]) -> float:
        """What it gains a token, given all that has been chosen."""
        word_counts, known, weight = self.selection.words, self.idf, item.line.weight
        if item.line.replaces:
            # It mattered enough to be changed, and each word is news: the block may have them all, with what is over.
            word_counts, weight = Counter(), 1.0
        # A list, not a generator: this is the innermost loop of packing, and a list is summed faster.
        new = sum(
            [objective.novelty(known[c], word_counts[c]) if c in word_counts else known[c] for c in item.concepts]
        )
        heard, retold = self.selection.heard[item.line.chat], self.selection.retold(item.line)
        return objective.gain(weight, new, heard, retold, self.price(item))


def idf(items: Sequence[Item[MemoryLine]]) -> Mapping[str, float]:
    """Of each word, over the chats of the items: what every chat says distinguishes nothing."""
    # Over chats and not over lines: a chat that repeats a word does not make it common.
    chats: dict[str, set[str]] = {}
    for item in items:
        for concept in item.concepts:
            chats.setdefault(concept, set()).add(item.line.chat)
    total = len({item.line.chat for item in items}) + 1
    return {concept: math.log(1 + total / len(where)) for concept, where in chats.items()}
