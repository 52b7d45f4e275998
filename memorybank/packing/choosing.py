"""Which facts are worth their tokens: greedy by prior × what is new / cost, spread over chats."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memorybank.packing.values import Candidate
from memorybank.sentences import terms

# Measured on development data; flat around these values.
NOVELTY, THRIFT, REPEATED, PAIR, UNHEARD, CROWDED = 1.3, 1.1, 0.4, 0.6, 2.0, 0.06
PREFILTER = 3.0
FLOOR = 0.1


@dataclass(slots=True)
class Item:
    """A candidate in the running: its line as shown, what it says, and every id it stands for."""

    fact: Candidate
    text: str
    cost: int
    ids: list[int]
    concepts: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def paragraph(self) -> tuple[int, str, str]:
        """What it shares a paragraph with."""
        return (self.fact.tier, self.fact.period, self.fact.label)


def understand(item: Item) -> None:
    """Fill in the item's concepts: its words and neighbouring pairs of words."""
    if not item.concepts:
        own = terms(item.text)
        pairs = [f"{left} {right}" for left, right in zip(own, own[1:], strict=False)]
        item.concepts = tuple(dict.fromkeys(own + pairs)) or (item.text,)


def shortlist(items: Sequence[Item], room: int) -> list[Item]:
    """The best by worth per token, to PREFILTER times the room; each further one of a chat counts less."""
    ranked = sorted(items, key=lambda item: (-item.fact.weight / (item.cost + 4), item.fact.at, item.fact.id))
    rank: Counter[str] = Counter()
    scored = []
    for item in ranked:
        rank[item.fact.chat] += 1
        scored.append((item.fact.weight / (item.cost + 4) / rank[item.fact.chat] ** 0.5, item))
    scored.sort(key=lambda pair: (-pair[0], pair[1].fact.at, pair[1].fact.id))
    left, chosen = room * PREFILTER + 50, []
    for _, item in scored:
        if left <= 0:
            break
        if item.cost <= room:
            chosen.append(item)
            left -= item.cost
    return sorted(chosen, key=lambda item: (item.fact.at, item.fact.id))


@dataclass(slots=True)
class Selection:
    """A growing choice: what has been said, who has been heard, which paragraphs are open."""

    said: Counter[str] = field(default_factory=Counter)
    heard: Counter[str] = field(default_factory=Counter)
    opened: set[tuple[object, ...]] = field(default_factory=set)
    restated: set[int] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    rarity: dict[str, float] = field(default_factory=dict)

    def weigh_words(self, items: Sequence[Item]) -> None:
        """Rarity over the chats of the shortlist: what every chat says distinguishes nothing."""
        chats: dict[str, set[str]] = {}
        for item in items:
            understand(item)
            for concept in item.concepts:
                chats.setdefault(concept, set()).add(item.fact.chat)
        total = len({item.fact.chat for item in items}) + 1
        self.rarity = {
            concept: math.log(1 + total / len(where)) * (PAIR if " " in concept else 1.0)
            for concept, where in chats.items()
        }

    def opening(self, item: Item, section: str) -> int:
        """Tokens of the date and the speaker that this item would be the first to need."""
        price = 0
        if (section, item.paragraph) not in self.opened:
            price += 6
        if item.fact.speaker and (section, item.paragraph, item.fact.speaker) not in self.opened:
            price += 2 + len(item.fact.speaker) // 5
        return price

    def gain(self, item: Item, section: str) -> float:
        """Worth per token, given all that has been chosen."""
        new = sum(self.rarity.get(c, 1.0) * REPEATED ** self.said[c] for c in item.concepts)
        cost = item.cost + self.opening(item, section)
        times = self.heard[item.fact.chat]
        spread = UNHEARD if times == 0 else 1 / (1 + CROWDED * times)
        return item.fact.weight * new**NOVELTY / cost**THRIFT * spread

    def take(self, item: Item, section: str) -> None:
        """Choose the item."""
        understand(item)
        self.items.append(item)
        self.taken.update(item.ids)
        self.restated |= item.fact.restates
        self.said.update(item.concepts)
        self.heard[item.fact.chat] += 1
        self.opened |= {(section, item.paragraph), (section, item.paragraph, item.fact.speaker)}

    def repeats(self, item: Item) -> bool:
        """Whether the block says it already: itself, by a digest fact, or by all that it restates."""
        return (
            not self.taken.isdisjoint(item.ids)
            or not self.restated.isdisjoint(item.ids)
            or bool(item.fact.restates)
            and item.fact.restates <= self.taken | self.restated
        )

    def choose(self, items: Iterable[Item], room: int, section: str, until: int | None = None) -> list[Item]:
        """Take the best of ``items`` into ``room`` tokens, or until ``until`` tokens are reached."""
        pool = [item for item in items if item.cost <= room]
        heap = [(-self.gain(item, section), number) for number, item in enumerate(pool)]
        heapq.heapify(heap)
        chosen: list[Item] = []
        used = 0
        while heap and (until is None or used < until):
            _, number = heapq.heappop(heap)
            item = pool[number]
            price = item.cost + self.opening(item, section)
            if used + price > room or self.repeats(item):
                continue
            gain = self.gain(item, section)
            if heap and -gain > heap[0][0]:
                heapq.heappush(heap, (-gain, number))
                continue
            self.take(item, section)
            chosen.append(item)
            used += price
        return chosen
