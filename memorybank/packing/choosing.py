"""Which facts are worth their tokens: greedy by prior × what is new / cost, spread over chats."""

import heapq
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from memorybank.packing.items import Item

# Measured on development data; the result is flat around each of these values. Powers of what is new and of the
# cost, and pairs of words as concepts of their own, gained nothing.
REPEATED, UNHEARD, CROWDED = 0.4, 2.0, 0.06


@dataclass(slots=True)
class Selection:
    """A growing choice: what has been said, who has been heard, which paragraphs are open."""

    said: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    opened: set[tuple[object, ...]] = field(default_factory=set)
    taken: set[int] = field(default_factory=set)
    restated: set[int] = field(default_factory=set)
    shown: dict[tuple[str, ...], Item] = field(default_factory=dict)
    rarity: dict[str, float] = field(default_factory=dict)

    def study(self, items: Sequence[Item]) -> None:
        """Rarity over the chats in the running: what every chat says distinguishes nothing."""
        chats: dict[str, set[str]] = {}
        for item in items:
            for concept in item.concepts:
                chats.setdefault(concept, set()).add(item.fact.chat)
        total = len({item.fact.chat for item in items}) + 1
        self.rarity = {concept: math.log(1 + total / len(where)) for concept, where in chats.items()}

    def opening(self, item: Item, section: str) -> int:
        """About how many tokens of date and speaker this item would be the first to need."""
        price = 0
        if (section, item.paragraph) not in self.opened:
            price += 2 + len(item.fact.label) // 3
        if item.fact.speaker and (section, item.paragraph, item.fact.speaker) not in self.opened:
            price += 2 + len(item.fact.speaker) // 5
        return price

    def gain(self, item: Item, section: str) -> float:
        """Worth per token, given all that has been chosen."""
        said, rarity = self.said, self.rarity
        new = sum([rarity[c] * REPEATED ** said[c] if c in said else rarity[c] for c in item.concepts])
        cost = item.cost + self.opening(item, section)
        times = self.heard[item.fact.chat]
        spread = UNHEARD if times == 0 else 1 / (1 + CROWDED * times)
        return item.fact.weight * new / cost * spread

    def take(self, item: Item, section: str) -> None:
        """Choose the item."""
        self.shown[item.key] = item
        self.taken.update(item.ids)
        self.restated |= item.fact.restates
        self.said.update(item.concepts)
        self.heard[item.fact.chat] += 1
        self.opened |= {(section, item.paragraph), (section, item.paragraph, item.fact.speaker)}

    def drop(self, item: Item) -> None:
        """Take the choice back."""
        self.shown.pop(item.key, None)
        self.taken.difference_update(item.ids)
        self.restated -= item.fact.restates
        self.said.subtract(item.concepts)
        self.heard[item.fact.chat] -= 1

    def repeats(self, item: Item) -> bool:
        """Whether the block says it already."""
        return self.covers(item.ids, item.fact.restates)

    def covers(self, ids: Collection[int], restates: frozenset[int]) -> bool:
        """Whether the block has a fact with these ids: itself, by a digest fact, or by all that it restates."""
        return (
            not self.taken.isdisjoint(ids)
            or not self.restated.isdisjoint(ids)
            or (bool(restates) and all(fact in self.taken or fact in self.restated for fact in restates))
        )

    def unites(self, item: Item) -> bool:
        """Whether a shown item says the same but for case and articles; then it stands for both."""
        same = self.shown.get(item.key)
        if same is None or len(item.key) < 2:
            return False
        same.ids += [number for number in item.ids if number not in same.ids]
        self.taken.update(item.ids)
        return True

    def choose(self, items: Sequence[Item], room: int, section: str, least: int | None = None) -> list[Item]:
        """The best of ``items``, best first, in ``room`` tokens; with ``least``, only until that is reached.

        Gains only fall as more is said, so a stale gain is an upper bound and most are never recomputed.
        """
        self.study(items)
        heap = [(-self.gain(item, section), place) for place, item in enumerate(items)]
        heapq.heapify(heap)
        chosen: list[Item] = []
        used = 0
        while heap and (least is None or used < least):
            _, place = heapq.heappop(heap)
            item = items[place]
            if self.repeats(item) or self.unites(item):
                continue
            price = item.cost + self.opening(item, section)
            if used + price > room:
                continue
            gain = self.gain(item, section)
            if heap and -gain > heap[0][0]:
                heapq.heappush(heap, (-gain, place))
                continue
            self.take(item, section)
            chosen.append(item)
            used += price
        return chosen
