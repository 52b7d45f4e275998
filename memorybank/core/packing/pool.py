"""All candidates of a block in time order, each with its place and its cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cached_property
from operator import attrgetter

from memorybank.core.packing.items import Item, as_line, concepts
from memorybank.core.packing.values import LABEL, Candidate
from memorybank.language import tokens
from memorybank.language.dates import shortened
from memorybank.safety.quoting import name_words


class Pool:
    """Candidates by their place: pinned ones first, then in time order.

    The same words of the same person are one candidate, the earliest. Several blocks may be packed from
    one pool; nothing in it depends on which. Of a history that is longer than the candidates are, whoever
    knows it says up to when the stable section is chosen: ``stable_before``.
    """

    def __init__(self, candidates: Iterable[Candidate], encoding: str, stable_before: datetime | None = None) -> None:
        self.encoding, self.stable_before = encoding, stable_before
        self.facts: list[Candidate] = []
        self.repeated: dict[int, list[int]] = {}
        by_time = sorted(sorted(candidates, key=attrgetter("id")), key=attrgetter("at"))
        first: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._merge((fact for fact in by_time if fact.pinned), first)
        pinned = len(self.facts)
        self._merge((fact for fact in by_time if not fact.pinned), first)
        self.pinned, self.free = range(pinned), range(pinned, len(self.facts))
        #: Tokens of each text as it was counted before: those that are looked at closely are counted as shown.
        self.costs = [fact.tokens or tokens.count(fact.text, encoding) for fact in self.facts]
        self._worded: dict[int, tuple[str, int, tuple[str, ...]]] = {}
        self._tiers: dict[int, list[int]] = {}

    def _merge(self, facts: Iterable[Candidate], first: Mapping[str, dict[str, int]]) -> None:
        """Give each fact a place; ``first`` has the place of every text of a speaker."""
        for fact in facts:
            places, text = first[fact.speaker], fact.text
            if text in places:
                self.repeated.setdefault(places[text], []).append(fact.id)
            else:
                places[text] = len(self.facts)
                self.facts.append(fact)

    @cached_property
    def names(self) -> frozenset[str]:
        """What a line may not begin with, as if that person spoke."""
        return name_words(fact.speaker for fact in self.facts)

    @cached_property
    def worth(self) -> list[float]:
        """Of each place."""
        return list(map(worth, self.facts, self.costs))

    @cached_property
    def ranked(self) -> list[int]:
        """The free places by worth, best first."""
        return sorted(self.free, key=self.worth.__getitem__)

    def tier(self, tier: int) -> list[int]:
        """The ranked places of one tier."""
        if not self._tiers:
            tiers = [fact.tier for fact in self.facts]
            self._tiers = {own: [place for place in self.ranked if tiers[place] == own] for own in set(tiers)}
        return self._tiers.get(tier, [])

    def tokens(self, tier: int) -> int:
        """What the facts of one tier cost."""
        return sum(self.costs[place] + LABEL for place in self.tier(tier))

    def ids(self, place: int) -> list[int]:
        """Every fact that says it in the same words."""
        return [self.facts[place].id, *self.repeated.get(place, ())]

    def item(self, place: int) -> Item[Candidate]:
        """The candidate as it would be shown."""
        if place not in self._worded:
            fact = self.facts[place]
            text = as_line(fact.text, self.names)
            cost = tokens.count(shortened(text, fact.label), self.encoding) + 1
            # A model says of what day every line is: that its heading tells.
            self._worded[place] = (text, cost, concepts(text, but="" if fact.detail else fact.label))
        text, cost, about = self._worded[place]
        return Item(self.facts[place], text, cost, self.ids(place), about)


def worth(fact: Candidate, cost: int) -> float:
    """Worth per token, negative, so that the best comes first."""
    return -fact.weight / (cost + LABEL)
