"""The few candidates of a pool that are looked at closely: the most promising of those not yet said."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator

from memorybank.core.packing.greedy import Selection
from memorybank.core.packing.items import Item
from memorybank.core.packing.pool import Pool, worth
from memorybank.core.packing.values import LABEL, Candidate

# Only this many times the room is looked at closely, and some tokens in any case; the rest has no chance.
PREFILTER, PREFILTER_LEAST = 3, 1200


class Shortlist:
    """A pool while one block is packed: what has been looked at closely, and what the block does not say yet."""

    def __init__(self, pool: Pool, selection: Selection) -> None:
        self.pool, self.selection = pool, selection
        self.items: dict[int, Item[Candidate]] = {}

    def item(self, place: int) -> Item[Candidate]:
        """The candidate as it would be shown; from then on it costs what it really costs."""
        if place not in self.items:
            self.items[place] = self.pool.item(place)
        return self.items[place]

    def ready(self, places: Iterable[int]) -> list[Item[Candidate]]:
        """The items of these places; those with nothing visible are left out."""
        return [item for item in map(self.item, places) if item.text]

    def cost(self, place: int) -> int:
        """Its tokens, as far as they are known."""
        return self.items[place].cost if place in self.items else self.pool.costs[place]

    def is_said(self, place: int) -> bool:
        """Whether the block says it already."""
        if place in self.items:
            return self.selection.repeats(self.items[place])
        return self.selection.covers(self.pool.ids(place), self.pool.facts[place].restates)

    def best(
        self, room: int, *, tier: int | None = None, until: int | None = None, without: str = ""
    ) -> list[Item[Candidate]]:
        """In time order, those worth most of what is not yet said: of one tier, before a place, without a chat."""
        left, chosen = max(room * PREFILTER, PREFILTER_LEAST), []
        for place in self._spread(self._ranked(tier, self.pool.free.stop if until is None else until)):
            if left <= 0:
                break
            if self.cost(place) <= room and not (without and self.pool.facts[place].chat == without):
                chosen.append(place)
                left -= self.cost(place) + LABEL
        return self.ready(sorted(chosen))

    def unsaid(self, tier: int, most: int, *, longest: int) -> int:
        """How many tokens a tier has yet to say, in facts of at most ``longest``; no more than ``most``."""
        found = 0
        for place in self.pool.tier(tier):
            if found >= most:
                return most
            cost = self.cost(place)
            if cost <= longest and not self.is_said(place):
                found += cost + LABEL
        return min(most, found)

    def _ranked(self, tier: int | None, until: int) -> Iterator[tuple[float, int]]:
        """Free places not yet said, by worth per token, best first."""
        facts, free = self.pool.facts, self.pool.free
        known = [place for place in self.items if place in free and tier in (None, facts[place].tier)]
        ranked = self.pool.ranked if tier is None else self.pool.tier(tier)
        others = ((self.pool.worth[place], place) for place in ranked if place not in self.items)
        both = heapq.merge(sorted((worth(facts[place], self.cost(place)), place) for place in known), others)
        return ((value, place) for value, place in both if place < until and not self.is_said(place))

    def _spread(self, ranked: Iterable[tuple[float, int]]) -> Iterator[int]:
        """Best first, when each further one of a chat counts for less. Reads no further than it is read."""
        of_chat: Counter[str] = Counter()
        waiting: list[tuple[float, int]] = []
        for value, place in ranked:
            while waiting and waiting[0][0] < value:
                yield heapq.heappop(waiting)[1]
            chat = self.pool.facts[place].chat
            of_chat[chat] += 1
            heapq.heappush(waiting, (value / of_chat[chat] ** 0.5, place))
        while waiting:
            yield heapq.heappop(waiting)[1]
