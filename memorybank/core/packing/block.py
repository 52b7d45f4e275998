"""Facts → one block: each section is filled with the facts of the highest gain within the constraints."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from operator import attrgetter, itemgetter
from typing import NamedTuple

from memorybank.core.granularity import Granularity
from memorybank.core.memory_line import LABEL_TOKENS, MemoryLine, PackedBlock
from memorybank.core.packing import objective
from memorybank.core.packing.assembly import (
    BLOCK_HEADER,
    FURTHER,
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
# If quotas lack room, the stable section shrinks in steps of this share of the budget, at most this often.
GIVE_WAY_SHARE, GIVE_WAY_ROUNDS = 0.03, 5
# How often the remaining tokens are filled (measured: a fourth time adds nothing).
FILL_ROUNDS = 3


class Writing(NamedTuple):
    """What was written at once, with the most important lines first: a digest, or the notes of a part of a chat.

    A long chat has several, so that its end is told as well as its beginning.
    """

    tier: int
    period_start: date
    chat: str
    said_at: datetime
    part: int
    is_digest: bool


# The steps in which a written block is shortened if it is too long: first the share of each chat's notes that remains
# beside whole digests, as they are not condensed yet; then the share of each period's digest, down to about a line;
# then that of the background, which has the longest history in the fewest words.
NOTE_SHARES = (1, 0.8, 0.65, 0.5, 0.35, 0.2, 0)
PERIOD_SHARES = (0.85, 0.7, 0.55, 0.4)
LAST_SHARES = (0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1, 0)


class ShrinkStep(NamedTuple):
    """The shares of the background, of each period's digest and of each chat's notes that remain in a short block."""

    background: float
    periods: float
    notes: float

    def lines(self, writing: Writing, count: int) -> int:
        """How many of the ``count`` lines of a writing remain."""
        if not writing.is_digest:
            return math.ceil(count * self.notes)
        if writing.tier == Granularity.BACKGROUND.tier:
            return math.ceil(count * self.background)
        return max(round(count * self.periods), 1 if self.periods else 0)


SHRINK_STEPS = (
    *(ShrinkStep(background=1, periods=1, notes=share) for share in NOTE_SHARES),
    *(ShrinkStep(background=1, periods=share, notes=0) for share in PERIOD_SHARES),
    *(ShrinkStep(background=share, periods=min(share, PERIOD_SHARES[-1]), notes=0) for share in LAST_SHARES),
)

LineItem = Item[MemoryLine]


def pack(
    candidates: Iterable[MemoryLine] | Pool,
    budget: int,
    *,
    header: str = BLOCK_HEADER,
    encoding: str = "o200k_base",
    reserve: bool = True,
) -> PackedBlock:
    """The best block of whole facts in at most ``budget`` tokens; the same facts give the same bytes.

    Empty when nothing fits. ``reserve``: also return the lines that would be added next. Packing several blocks from
    the same candidates is cheaper from one ``Pool``, which has its own encoding.
    """
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates, encoding)
    packing = Packing(pool, header, budget)
    # The order matters: each section fills the room that those before it leave, and pinned facts come first.
    packing.fill_pinned()
    if pool.written:
        packing.fill_written()
    else:
        packing.fill_stable()
        packing.fill_quotas()
    packing.fill_further()
    text, size = packing.assembly.finished()
    following = packing.reserve() if reserve and text else ()
    people, trusted = (pool.people, pool.trusted) if reserve else ((), ())
    return PackedBlock(text, size, lines_of(packing.assembly), following, people, trusted)


def writing_of(item: LineItem) -> Writing:
    line = item.line
    return Writing(line.tier, line.period_start, line.chat, line.said_at, line.part, bool(line.restates))


def first_of_each(items: Iterable[LineItem], limits: Mapping[Writing, int]) -> Iterator[LineItem]:
    """The first items of each writing, at most ``limits[writing]``."""
    seen = Counter[Writing]()
    for item in items:
        writing = writing_of(item)
        seen[writing] += 1
        if seen[writing] <= limits[writing]:
            yield item


class Packing:
    """A block while its sections are filled, one after the other."""

    def __init__(self, pool: Pool, header: str, budget: int) -> None:
        self.pool, self.budget = pool, budget
        self.assembly: Assembly[MemoryLine] = Assembly(header, budget, pool.encoding)
        self.selection = Selection()
        self.shortlist = Shortlist(pool, self.selection)

    def fill(
        self,
        section: str,
        room: int,
        *,
        tier: int | None = None,
        until: int | None = None,
        min_tokens: int | None = None,
    ) -> None:
        """Fill ``room`` tokens of a section with the new facts of the highest gain: of a tier, or before a place.

        With ``min_tokens``, stop once that many tokens are used.
        """
        items = self.shortlist.best(room, tier=tier, until=until)
        self.assembly.fill(section, items, room, ByGain(self.selection, section, items), min_tokens=min_tokens)

    def fill_pinned(self) -> None:
        """Pinned facts, as many as fit, oldest first."""
        pinned = self.shortlist.ready(self.pool.pinned)
        self.assembly.fill(PINNED, pinned, self.assembly.room(), InOrder(self.selection, PINNED))

    def fill_written(self) -> None:
        """Digests and notes as they were written; if they do not fit, the first lines of each, which matter most.

        They are shortened in steps, so that the block does not change after every chat. If not even one line of each
        part of a chat fits, the newest notes are shown. What room is left goes to the next lines of the digests, at the
        end of the block, where it changes nothing before it.
        """
        items = self.shortlist.ready(self.pool.written)
        writings = Counter(map(writing_of, items))
        to = InOrder(self.selection, WRITTEN)
        for step in SHRINK_STEPS:
            limits = {writing: step.lines(writing, count) for writing, count in writings.items()}
            chosen = list(first_of_each(items, limits))
            self.assembly.sections[WRITTEN] = chosen
            if self.assembly.room() >= 0:
                break
        self.assembly.sections[WRITTEN] = []
        # They fit by an exact count; the sum of their estimates may be a tenth more.
        self.assembly.fill(WRITTEN, chosen, 2 * self.budget, to)
        if not step.notes and self.assembly.room() > OPENING_TOKENS:
            newest = [item for item in reversed(items) if not item.line.restates]
            self.assembly.fill(WRITTEN, newest, self.assembly.room() - OPENING_TOKENS, to)
        shown = set(map(id, chosen))
        rest = [item for item in items if item.line.restates and id(item) not in shown]
        room = self.assembly.room() - 2 * OPENING_TOKENS
        self.assembly.fill(FURTHER, rest, room, InOrder(self.selection, FURTHER))

    def fill_stable(self) -> None:
        """The best facts of the history up to the checkpoint; all of them while they fit."""
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

        Digest facts are not counted, so that rolling up moves no checkpoint.
        """
        facts, costs, free = self.pool.facts, self.pool.costs, self.pool.free
        if self.pool.stable_before:
            return bisect_left(facts, self.pool.stable_before, free.start, free.stop, key=attrgetter("said_at"))
        # A fact adds about two tokens to its paragraph beside its text.
        counted = [0 if facts[place].restates else costs[place] + 2 for place in free]
        return free.start + objective.reached(counted, objective.checkpoint(sum(counted), room))

    def fill_quotas(self) -> None:
        """The best facts of every tier below its quota; if they do not fit, the stable section is shortened.

        It is shortened in whole steps, so that it does not change after every chat.
        """
        step = max(1, int(self.budget * GIVE_WAY_SHARE))
        for _ in range(GIVE_WAY_ROUNDS):
            missing = {tier: self.missing(tier) for tier in TIERS}
            wanted = sum(missing.values())
            if not wanted or self.assembly.room() <= 0:
                return
            steps = math.ceil(max(0, wanted + OPENING_TOKENS - self.assembly.room()) / step)
            gave = steps > 0 and self.free_stable_tokens(steps * step)
            for tier, min_tokens in missing.items():
                self.fill_quota(tier, min_tokens)
            # The stable section cannot be shortened further, so another round would change nothing.
            if steps and not gave:
                return

    def fill_quota(self, tier: int, min_tokens: int) -> None:
        """The best facts of one tier, until ``min_tokens`` tokens are used."""
        room = self.assembly.room() - OPENING_TOKENS
        if min_tokens > 0 and room > 0:
            self.fill(QUOTA, room, tier=tier, min_tokens=min_tokens)

    def missing(self, tier: int) -> int:
        """How many tokens the tier is below its quota, but at most as many as its unused facts have."""
        have = sum(item.cost + LABEL_TOKENS for item in self.in_tiers() if item.line.tier == tier)
        quota = self.quota(tier)
        if have >= quota:
            return 0
        return self.shortlist.unsaid(tier, quota - have, longest=objective.share(self.budget))

    def in_tiers(self) -> Iterable[LineItem]:
        """The facts that count for a quota."""
        return (*self.assembly[STABLE], *self.assembly[QUOTA])

    def quota(self, tier: int) -> int:
        """The minimum tokens of a tier."""
        return objective.quota(self.budget, self.pool.tokens(tier))

    def free_stable_tokens(self, room: int) -> bool:
        """Drop the newest stable facts of tiers that keep their quota without them; False if there was none.

        The newest, because the text before them then keeps its bytes.
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
        """The best of all other facts, until nothing more fits.

        Costs are estimates, so a few tokens remain after each round. The last round adds facts to the quota section,
        where paragraphs are already open.
        """
        for section in (*[FURTHER] * FILL_ROUNDS, QUOTA):
            needs_heading = section == FURTHER and self.assembly.needs_heading() and not self.assembly[FURTHER]
            room = self.assembly.room() - (OPENING_TOKENS if needs_heading else 0)
            if room >= MIN_LINE_TOKENS:
                self.fill(section, room)

    def reserve(self) -> tuple[MemoryLine, ...]:
        """The lines that would be added next, best first: at least as many tokens as any one chat has in the block.

        That chat gets the block without its own lines, so the lines that replace them are not its own either.
        """
        own = Counter[str]()
        for item in self.assembly:
            own[item.line.chat] += item.cost + LABEL_TOKENS
        chat, tokens = max(own.items(), key=itemgetter(1, 0))
        room = objective.reserve_tokens(self.budget, tokens)
        # A chat with so much of the block is the one that needs the reserve, and its own lines would not help it.
        items = self.shortlist.best(room, without=chat if tokens * 2 > room else "")
        chosen = fill(items, room, ByGain(self.selection, RESERVE, items))
        return tuple(line_of(item, RESERVE) for item in chosen)
