"""Facts → one block: every section filled with what gains most under the constraints of the objective."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from operator import attrgetter, itemgetter
from typing import NamedTuple

from memorybank.core.granularity import Granularity
from memorybank.core.memory_line import LABEL_TOKENS, MemoryLine, PackedBlock
from memorybank.core.packing import objective
from memorybank.core.packing.assembly import (
    FURTHER,
    HEADER,
    MIN_LINE_TOKENS,
    OPENING_TOKENS,
    PINNED,
    QUOTA,
    RESERVE,
    STABLE,
    WRITTEN,
    Assembly,
    lines_of,
)
from memorybank.core.packing.greedy import ByGain, InOrder, Selection, fill
from memorybank.core.packing.items import Item, line_of
from memorybank.core.packing.layout import ordered
from memorybank.core.packing.pool import Pool, Shortlist

TIERS = tuple(granularity.tier for granularity in Granularity.coarsest_first())
# Where quotas lack room, the stable section gives way in steps of this share of the budget, at most so often.
GIVE_WAY_SHARE, GIVE_WAY_ROUNDS = 0.03, 5
# How often what is left over is filled (measured: a fourth time adds nothing).
FILL_ROUNDS = 3

# Of a written block that is too long, so much of each digest and of each chat's notes is told: notes, which are not
# condensed yet, give way first.
WRITTEN_SHARES = (
    *((1, 1), (1, 0.8), (1, 0.65), (1, 0.5), (1, 0.35), (1, 0.2), (1, 0)),
    *((0.85, 0), (0.7, 0), (0.55, 0), (0.4, 0), (0.3, 0), (0.2, 0), (0.1, 0), (0, 0)),
)

LineItem = Item[MemoryLine]


def pack(
    candidates: Iterable[MemoryLine] | Pool,
    budget: int,
    *,
    header: str = HEADER,
    encoding: str = "o200k_base",
    reserve: bool = True,
) -> PackedBlock:
    """The best block of whole facts in at most ``budget`` tokens; the same facts give the same bytes.

    Empty when nothing fits. ``reserve``: also what would be said next. Several blocks from the same candidates
    are cheaper from one ``Pool``; it brings its own encoding.
    """
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates, encoding)
    packing = Packing(pool, header, budget)
    # In this order: each section fills what those before it leave, and what a person pinned comes first.
    packing.fill_pinned()
    if pool.written:
        packing.fill_written()
    else:
        packing.fill_stable()
        packing.fill_quotas()
    packing.fill_further()
    text, size = packing.assembly.finished()
    return PackedBlock(text, size, lines_of(packing.assembly), packing.reserve() if reserve and text else ())


class WrittenEntry(NamedTuple):
    """The entry that a written line is told for: a digest, or the notes of a chat."""

    tier: int
    period_start: date
    chat: str
    is_digest: bool


def written_by(item: LineItem) -> WrittenEntry:
    line = item.line
    return WrittenEntry(line.tier, line.period_start, line.chat, bool(line.restates))


def first_of_each(items: Iterable[LineItem], most: Mapping[WrittenEntry, int]) -> Iterator[LineItem]:
    """The first items of each entry, as many as it may have."""
    seen = Counter[WrittenEntry]()
    for item in items:
        entry = written_by(item)
        seen[entry] += 1
        if seen[entry] <= most[entry]:
            yield item


class Packing:
    """A block while its sections are filled, one after the other."""

    def __init__(self, pool: Pool, header: str, budget: int) -> None:
        self.pool, self.budget = pool, budget
        self.assembly: Assembly[MemoryLine] = Assembly(header, budget, pool.encoding)
        self.selection = Selection()
        self.shortlist = Shortlist(pool, self.selection)

    def fill(
        self, section: str, room: int, *, tier: int | None = None, until: int | None = None, least: int | None = None
    ) -> None:
        """Fill ``room`` tokens of a section with what gains most and is not yet said: of a tier, or before a place.

        With ``least``, only until that is used.
        """
        items = self.shortlist.best(room, tier=tier, until=until)
        self.assembly.fill(section, items, room, ByGain(self.selection, section, items), least=least)

    def fill_pinned(self) -> None:
        """Pinned facts, as many as fit, the oldest before the newer."""
        pinned = self.shortlist.ready(self.pool.pinned)
        self.assembly.fill(PINNED, pinned, self.assembly.room(), InOrder(self.selection, PINNED))

    def fill_written(self) -> None:
        """Digests and notes as they were written; where room lacks, the first lines of each, which matter most.

        In steps, so that the block is not another one after every chat. Where not a line of each chat fits, the newest
        notes do.
        """
        items = self.shortlist.ready(self.pool.written)
        entries = Counter(written_by(item) for item in items)
        to = InOrder(self.selection, WRITTEN)
        for of_digests, of_notes in WRITTEN_SHARES:
            most = {e: math.ceil(n * (of_digests if e.is_digest else of_notes)) for e, n in entries.items()}
            chosen = list(first_of_each(items, most))
            self.assembly.sections[WRITTEN] = chosen
            if self.assembly.room() >= 0:
                break
        self.assembly.sections[WRITTEN] = []
        self.assembly.fill(WRITTEN, chosen, self.assembly.room(), to)
        if not of_notes and self.assembly.room() > OPENING_TOKENS:
            newest = [item for item in reversed(items) if not item.line.restates]
            self.assembly.fill(WRITTEN, newest, self.assembly.room() - OPENING_TOKENS, to)

    def fill_stable(self) -> None:
        """The best of the history up to the checkpoint; all of it, while all fits."""
        room = self.assembly.room()
        if room <= 0:
            return
        until = self.stable_until(room)
        if until < self.pool.free.stop:
            room = objective.stable_room(room)
        if room > 0:
            self.fill(STABLE, room, until=until)

    def stable_until(self, room: int) -> int:
        """The place of the first fact after the checkpoint.

        Digest facts do not count for it, so that rolling up moves no checkpoint.
        """
        facts, costs, free = self.pool.facts, self.pool.costs, self.pool.free
        if self.pool.stable_before:
            return bisect_left(facts, self.pool.stable_before, free.start, free.stop, key=attrgetter("said_at"))
        # Two tokens more than the text: about what a fact adds to its paragraph.
        counted = [0 if facts[place].restates else costs[place] + 2 for place in free]
        return free.start + objective.reached(counted, objective.checkpoint(sum(counted), room))

    def fill_quotas(self) -> None:
        """The best of every tier that is short of its quota; where room lacks, the stable section gives way.

        In whole steps, so that the stable section is not another one after every chat.
        """
        step = max(1, int(self.budget * GIVE_WAY_SHARE))
        for _ in range(GIVE_WAY_ROUNDS):
            missing = {tier: self.missing(tier) for tier in TIERS}
            wanted = sum(missing.values())
            if not wanted or self.assembly.room() <= 0:
                return
            steps = -(-max(0, wanted + OPENING_TOKENS - self.assembly.room()) // step)
            gave = steps > 0 and self.free_stable_tokens(steps * step)
            for tier, least in missing.items():
                self.fill_quota(tier, least)
            # Nothing more will give way: another round would fill the same again.
            if steps and not gave:
                return

    def fill_quota(self, tier: int, least: int) -> None:
        """The best facts of one tier, until ``least`` tokens are used."""
        room = self.assembly.room() - OPENING_TOKENS
        if least > 0 and room > 0:
            self.fill(QUOTA, room, tier=tier, least=least)

    def missing(self, tier: int) -> int:
        """How many tokens the tier is short of its quota, as far as it has facts for them."""
        have = sum(item.cost + LABEL_TOKENS for item in self.in_tiers() if item.line.tier == tier)
        quota = self.quota(tier)
        if have >= quota:
            return 0
        return self.shortlist.unsaid(tier, quota - have, longest=objective.share(self.budget))

    def in_tiers(self) -> Iterable[LineItem]:
        """The facts that count for a quota."""
        return (*self.assembly[STABLE], *self.assembly[QUOTA])

    def quota(self, tier: int) -> int:
        """The tokens that a tier gets at least."""
        return objective.quota(self.budget, self.pool.tokens(tier))

    def free_stable_tokens(self, room: int) -> bool:
        """Drop the newest stable facts of tiers that keep their quota without them; False if none did.

        The newest, because what stands before them stays the same bytes.
        """
        spare = {tier: -self.quota(tier) for tier in TIERS}
        for item in self.assembly[STABLE]:
            spare[item.line.tier] += item.cost + LABEL_TOKENS
        freed = 0
        for item in reversed(ordered(self.assembly[STABLE])):
            tier, cost = item.line.tier, item.cost + LABEL_TOKENS
            if freed < room and spare[tier] >= cost:
                spare[tier] -= cost
                freed += cost
                self.assembly[STABLE].remove(item)
                self.selection.drop(item)
        return freed > 0

    def fill_further(self) -> None:
        """The best of all that is not yet said, until nothing more fits.

        Prices are estimates, so every filling leaves a few tokens over. The last go to paragraphs that have begun.
        """
        for section in (*[FURTHER] * FILL_ROUNDS, QUOTA):
            needs_heading = section == FURTHER and self.assembly.needs_heading() and not self.assembly[FURTHER]
            room = self.assembly.room() - (OPENING_TOKENS if needs_heading else 0)
            if room >= MIN_LINE_TOKENS:
                self.fill(section, room)

    def reserve(self) -> tuple[MemoryLine, ...]:
        """What would be said next, best first: at least as much as any one chat has in the block.

        That chat is given the block without its own words, so what fills their place is not its own either.
        """
        own = Counter[str]()
        for item in self.assembly:
            own[item.line.chat] += item.cost + LABEL_TOKENS
        chat, most = max(own.items(), key=itemgetter(1, 0))
        room = objective.reserved(self.budget, most)
        # Where one chat has that much of the block, the reserve is there for it, and nothing of its own would help.
        items = self.shortlist.best(room, without=chat if most * 2 > room else "")
        chosen = fill(items, room, ByGain(self.selection, RESERVE, items))
        return tuple(line_of(item, RESERVE) for item in chosen)
