"""Greedy selection: fill a number of tokens with the items of the highest gain, given those already chosen."""

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
    """The function that a selection maximises, given all items chosen so far."""

    def gain(self, item: ItemT_contra) -> float:
        """The item's gain per token. It never rises while more is chosen."""

    def price(self, item: ItemT_contra) -> int:
        """The item's approximate cost in tokens."""

    def is_redundant(self, item: ItemT_contra) -> bool:
        """Whether the item must be left out, because of the items chosen so far."""

    def merge_duplicate(self, item: ItemT_contra) -> bool:
        """Add the item's facts to a chosen item with the same text; return whether there is one."""

    def take(self, item: ItemT_contra) -> None:
        """Choose the item."""


def fill(items: Sequence[ItemT], room: int, to: Objective[ItemT], *, min_tokens: int | None = None) -> list[ItemT]:
    """The items of the highest gain in ``room`` tokens, best first; with ``min_tokens``, stop once that many are used.

    Of equal items the earlier is chosen. Gains only fall as more is chosen, so an outdated gain is an upper bound,
    and most gains are never computed again (lazy greedy).
    """
    heap = [(-to.gain(item), place) for place, item in enumerate(items)]
    heapq.heapify(heap)
    chosen: list[ItemT] = []
    used = 0
    while heap and (min_tokens is None or used < min_tokens):
        _, place = heapq.heappop(heap)
        item = items[place]
        if to.is_redundant(item) or to.merge_duplicate(item):
            continue
        price = to.price(item)
        if used + price > room:
            continue
        # The popped gain may be outdated: if another item may gain more, push this one back with its current gain.
        gain = to.gain(item)
        if heap and -gain > heap[0][0]:
            heapq.heappush(heap, (-gain, place))
            continue
        to.take(item)
        chosen.append(item)
        used += price
    return chosen


class Openings:
    """The open paragraphs, and the speakers named in each."""

    def __init__(self) -> None:
        self._opened: set[tuple[object, ...]] = set()

    def price(self, item: Item[Any], section: str) -> int:
        """The item's tokens, plus about those of the date and the speaker's name if it is the first to need them."""
        price, line = item.cost, item.line
        # Two tokens are the line break and the space; labels have about three letters a token, names five.
        if (section, item.paragraph) not in self._opened:
            price += 2 + len(line.label) // 3
        if line.speaker and (section, item.paragraph, line.speaker) not in self._opened:
            price += 2 + len(line.speaker) // 5
        return price

    def add(self, item: Item[Any], section: str) -> None:
        """Open the item's paragraph, and name its speaker there."""
        self._opened |= {(section, item.paragraph), (section, item.paragraph, item.line.speaker)}


@dataclass(slots=True)
class Selection:
    """The facts chosen for a block so far, with their words, chats and paragraphs.

    ``heard`` counts the lines of each chat. ``turn_counts`` counts facts by turn and ``detail``: False for facts that a
    model wrote, True for quoted sentences. ``restated`` has the leaf facts that chosen
    digests tell, each with one of these digests; ``digested`` has the turns that they cover.
    """

    openings: Openings = field(default_factory=Openings)
    words: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    turn_counts: Counter[tuple[int, bool]] = field(default_factory=Counter)
    taken: set[int] = field(default_factory=set)
    restated: dict[int, str] = field(default_factory=dict)
    digested: set[int] = field(default_factory=set)
    shown: dict[tuple[str, ...], Item[MemoryLine]] = field(default_factory=dict)

    def take(self, item: Item[MemoryLine], section: str) -> None:
        """Choose the item."""
        self.shown[item.key] = item
        self.taken.update(item.facts)
        self.restated |= dict.fromkeys(item.line.restates - self.restated.keys(), item.line.chat)
        if item.line.restates:
            self.digested |= item.line.turns
        self.words.update(item.concepts)
        self.heard[item.line.chat] += 1
        self.turn_counts.update((turn, item.line.detail) for turn in item.line.turns)
        self.openings.add(item, section)

    def drop(self, item: Item[MemoryLine]) -> None:
        """Remove the item again."""
        self.shown.pop(item.key, None)
        self.taken.difference_update(item.facts)
        for fact in item.line.restates:
            self.restated.pop(fact, None)
        self.words.subtract(item.concepts)
        self.heard[item.line.chat] -= 1
        self.turn_counts.subtract((turn, item.line.detail) for turn in item.line.turns)

    def retold(self, fact: MemoryLine) -> float:
        """The share of its turns that facts of the other kind (written, quoted) already cover."""
        if not fact.turns:
            return 0.0
        return sum(self.turn_counts[turn, not fact.detail] > 0 for turn in fact.turns) / len(fact.turns)

    def repeats(self, item: Item[MemoryLine]) -> bool:
        """Whether the block has one of its facts already, or a digest covers its turns."""
        return self.covers(item.facts, item.line) or self.is_digested(item.line)

    def is_digested(self, line: MemoryLine) -> bool:
        """Whether the line is a quoted sentence of turns that the block's digests cover."""
        return line.detail and bool(line.turns) and self.digested.issuperset(line.turns)

    def covers(self, ids: Collection[int], line: MemoryLine) -> bool:
        """Whether the block has one of a line's facts, a digest's line that restates it, or all that it restates.

        A digest tells a chat's notes in fewer words, so it restates no note as a whole. Its lines do not repeat each
        other, because the writer may tell a note under several subjects.
        """
        return (
            not self.taken.isdisjoint(ids)
            or (not line.is_note and not self.restated.keys().isdisjoint(ids))
            or (bool(line.restates) and all(fact in self.taken or self._retells(fact, line) for fact in line.restates))
        )

    def _retells(self, fact: int, line: MemoryLine) -> bool:
        """Whether another digest than the line's restates the fact."""
        return self.restated.get(fact, line.chat) != line.chat

    def merge_duplicate(self, item: Item[MemoryLine]) -> bool:
        """Add the item's facts to a chosen item with the same text, case and articles aside; return whether it did."""
        same = self.shown.get(item.key)
        # One word is not a statement: "yes" from two people means two things.
        if same is None or len(item.key) < 2:
            return False
        same.facts += [number for number in item.facts if number not in same.facts]
        self.taken.update(item.facts)
        return True


class InOrder:
    """The objective of a section that keeps the order of its facts."""

    def __init__(self, selection: Selection, section: str) -> None:
        self.selection, self.section = selection, section

    def gain(self, item: Item[MemoryLine]) -> float:
        """The same for all items, so their order decides."""
        return 0.0

    def price(self, item: Item[MemoryLine]) -> int:
        """The item's tokens, with date and speaker if it is the first to need them."""
        return self.selection.openings.price(item, self.section)

    def is_redundant(self, item: Item[MemoryLine]) -> bool:
        """Whether the block has one of its facts already, or a digest covers its turns."""
        return self.selection.repeats(item)

    def merge_duplicate(self, item: Item[MemoryLine]) -> bool:
        """Add its facts to a line of the block with the same text; return whether there is one."""
        return self.selection.merge_duplicate(item)

    def take(self, item: Item[MemoryLine]) -> None:
        """Choose it for this section."""
        self.selection.take(item, self.section)


class ByGain(InOrder):
    """The objective of a section of the facts with the highest gain."""

    def __init__(self, selection: Selection, section: str, items: Sequence[Item[MemoryLine]]) -> None:
        super().__init__(selection, section)
        self.idf = idf(items)

    def gain(self, item: Item[MemoryLine]) -> float:
        """The gain per token, given all items chosen so far."""
        word_counts, known, weight = self.selection.words, self.idf, item.line.weight
        if item.line.replaces:
            # A change is important, and all its words are new, even those of the value that no longer holds.
            word_counts, weight = Counter(), 1.0
        # A list, not a generator: this is the innermost loop of packing, and a list is summed faster.
        new = sum(
            [objective.novelty(known[c], word_counts[c]) if c in word_counts else known[c] for c in item.concepts]
        )
        heard, retold = self.selection.heard[item.line.chat], self.selection.retold(item.line)
        return objective.gain(weight, new, heard, retold, self.price(item))


def idf(items: Sequence[Item[MemoryLine]]) -> Mapping[str, float]:
    """The inverse document frequency of each word; a document is a chat, so repeating a word in one has no effect."""
    chats: dict[str, set[str]] = {}
    for item in items:
        for concept in item.concepts:
            chats.setdefault(concept, set()).add(item.line.chat)
    total = len({item.line.chat for item in items}) + 1
    return {concept: math.log(1 + total / len(where)) for concept, where in chats.items()}
