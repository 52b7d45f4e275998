"""All candidates of a block in time order, each with its place and its cost; and a shortlist of the best."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from operator import attrgetter

from memorybank.core.memory_line import LABEL_TOKENS, MemoryLine, speakers_of
from memorybank.core.packing.greedy import Selection
from memorybank.core.packing.items import Item, as_line, concepts
from memorybank.core.turns import ASSISTANT_SPEAKER
from memorybank.language import tokens
from memorybank.language.dates.heading import shorten_dates
from memorybank.safety.quoting import after_speaker, name_words
from memorybank.safety.reasons import Reported

# The shortlist has this multiple of the tokens to fill, and at least this many tokens; other facts have no chance.
PREFILTER_FACTOR, MIN_PREFILTER_TOKENS = 3, 1200


class Pool:
    """Candidates by their place: pinned ones first, then ``written`` lines in their order, then the rest by time.

    The same words of one person, told alike, are one candidate, the earliest. Several blocks may be packed from one
    pool. If the candidates are only a part of the history, ``stable_before`` is the time of the checkpoint up to which
    facts of the stable section are chosen.
    """

    def __init__(
        self,
        candidates: Iterable[MemoryLine],
        encoding: str,
        stable_before: datetime | None = None,
        written: Iterable[MemoryLine] = (),
        trusted: Iterable[str] = (),
    ) -> None:
        self.encoding, self.stable_before = encoding, stable_before
        #: The trusted speakers: their rules and decisions are shown as facts, not as reports.
        self.trusted = tuple(sorted(trusted))
        self.facts: list[MemoryLine] = []
        self.repeated: dict[int, list[int]] = {}
        by_time = sorted(candidates, key=attrgetter("said_at", "facts"))
        first: defaultdict[str, dict[tuple[str, int], int]] = defaultdict(dict)
        self._merge((fact for fact in by_time if fact.pinned), first)
        pinned = len(self.facts)
        self._merge(written, first)
        begun = len(self.facts)
        self._merge((fact for fact in by_time if not fact.pinned), first)
        self.pinned, self.written, self.free = range(pinned), range(pinned, begun), range(begun, len(self.facts))
        #: Tokens of each text as it is stored; those of the shortlist are counted as they would be shown.
        self.costs = [fact.tokens or tokens.count(fact.text, encoding) for fact in self.facts]
        self._worded: dict[int, tuple[str, bool, int, tuple[str, ...]]] = {}
        self._tiers: dict[int, list[int]] = {}

    def _merge(self, facts: Iterable[MemoryLine], first: Mapping[str, dict[tuple[str, int], int]]) -> None:
        """Give each fact a place; ``first`` has the place of each speaker's texts."""
        for fact in facts:
            places, text = first[fact.speaker], (fact.text, fact.reported)
            if text in places:
                self.repeated.setdefault(places[text], []).extend(fact.facts)
            else:
                places[text] = len(self.facts)
                self.facts.append(fact)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names that no line may begin with as if that person spoke."""
        return name_words(self.people)

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The speakers of all candidates."""
        return speakers_of(*self.facts)

    @cached_property
    def confirmed(self) -> frozenset[str]:
        """The folded texts that two people have said in their own words."""
        speakers: defaultdict[str, set[str]] = defaultdict(set)
        for fact in self.facts:
            if fact.detail and fact.speaker != ASSISTANT_SPEAKER and fact.reported != Reported.ALWAYS:
                speakers[folded(fact.text)].add(fact.speaker)
        return frozenset(text for text, said_by in speakers.items() if len(said_by) > 1)

    @cached_property
    def worth(self) -> list[float]:
        """The negative weight per token of each place."""
        return list(map(worth, self.facts, self.costs))

    @cached_property
    def ranked(self) -> list[int]:
        """The free places, best first."""
        return sorted(self.free, key=self.worth.__getitem__)

    def tier(self, tier: int) -> list[int]:
        """The ranked places of one tier."""
        if not self._tiers:
            tiers = [fact.tier for fact in self.facts]
            self._tiers = {own: [place for place in self.ranked if tiers[place] == own] for own in set(tiers)}
        return self._tiers.get(tier, [])

    def tokens(self, tier: int) -> int:
        """The tokens of all facts of one tier."""
        return sum(self.costs[place] + LABEL_TOKENS for place in self.tier(tier))

    def ids(self, place: int) -> list[int]:
        """All facts with the text at this place."""
        return [*self.facts[place].facts, *self.repeated.get(place, ())]

    def item(self, place: int) -> Item[MemoryLine]:
        """The candidate as it would be shown."""
        if place not in self._worded:
            fact = self.facts[place]
            of_model = not fact.detail or fact.speaker == ASSISTANT_SPEAKER
            approved = of_model or fact.pinned or bool(fact.released_by or fact.edited_by)
            trusted = fact.speaker in self.trusted or folded(fact.text) in self.confirmed
            text, is_report = as_line(
                fact.text,
                self.names,
                speaker=fact.speaker,
                reported=Reported.ALWAYS if fact.normative else fact.reported,
                approved=approved,
                trusted=trusted,
            )
            wording = after_speaker(text, is_report)
            cost = tokens.count(shorten_dates(wording, fact.label), self.encoding) + 1
            # A model writes the day into every line, and the paragraph's heading has it already.
            about = concepts(wording, but="" if fact.detail else fact.label)
            self._worded[place] = (text, is_report, cost, about)
        text, is_report, cost, about = self._worded[place]
        return Item(self.facts[place], text, cost, is_report, self.ids(place), about)


def folded(text: str) -> str:
    """Equal for texts that differ in case and the final mark only."""
    return text.casefold().rstrip(" .!。")


def worth(fact: MemoryLine, cost: int) -> float:
    """The negative weight per token, so that the best is sorted first."""
    return -fact.weight / (cost + LABEL_TOKENS)


class Shortlist:
    """The best items of a pool that a block does not have yet, while that block is packed."""

    def __init__(self, pool: Pool, selection: Selection) -> None:
        self.pool, self.selection = pool, selection
        self.items: dict[int, Item[MemoryLine]] = {}

    def item(self, place: int) -> Item[MemoryLine]:
        """The candidate as it would be shown; from now on its cost is exact."""
        if place not in self.items:
            self.items[place] = self.pool.item(place)
        return self.items[place]

    def ready(self, places: Iterable[int]) -> list[Item[MemoryLine]]:
        """The items of these places, without those that have no visible text."""
        return [item for item in map(self.item, places) if item.text]

    def cost(self, place: int) -> int:
        """Its tokens: exact if it is shortlisted, otherwise as stored."""
        return self.items[place].cost if place in self.items else self.pool.costs[place]

    def is_redundant(self, place: int) -> bool:
        """Whether the block has the fact, or a line that covers it."""
        if place in self.items:
            return self.selection.repeats(self.items[place])
        line = self.pool.facts[place]
        return self.selection.covers(self.pool.ids(place), line) or self.selection.is_digested(line)

    def best(
        self, room: int, *, tier: int | None = None, until: int | None = None, without: str = ""
    ) -> list[Item[MemoryLine]]:
        """The best facts that the block does not have yet, by time: of one tier, before a place, without a chat."""
        left, chosen = max(room * PREFILTER_FACTOR, MIN_PREFILTER_TOKENS), []
        for place in self._spread(self._ranked(tier, self.pool.free.stop if until is None else until)):
            if left <= 0:
                break
            if self.cost(place) <= room and not (without and self.pool.facts[place].chat == without):
                chosen.append(place)
                left -= self.cost(place) + LABEL_TOKENS
        return self.ready(sorted(chosen))

    def unsaid(self, tier: int, limit: int, *, longest: int) -> int:
        """The tokens of a tier's facts that the block does not have, of at most ``longest`` each; at most ``limit``."""
        total = 0
        for place in self.pool.tier(tier):
            if total >= limit:
                return limit
            cost = self.cost(place)
            if cost <= longest and not self.is_redundant(place):
                total += cost + LABEL_TOKENS
        return min(limit, total)

    def _ranked(self, tier: int | None, until: int) -> Iterator[tuple[float, int]]:
        """Free places that the block does not have, by weight per token, best first."""
        facts, free = self.pool.facts, self.pool.free
        known = [place for place in self.items if place in free and tier in (None, facts[place].tier)]
        ranked = self.pool.ranked if tier is None else self.pool.tier(tier)
        others = ((self.pool.worth[place], place) for place in ranked if place not in self.items)
        both = heapq.merge(sorted((worth(facts[place], self.cost(place)), place) for place in known), others)
        return ((value, place) for value, place in both if place < until and not self.is_redundant(place))

    def _spread(self, ranked: Iterable[tuple[float, int]]) -> Iterator[int]:
        """Yield places, best first; each further fact of a chat counts for less."""
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
