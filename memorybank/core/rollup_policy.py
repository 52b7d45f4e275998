"""Plan which entries roll up into which period, and how many tokens a digest may have. No database.

Only closed periods roll up, each once; turns that come later are added to the digest that already covers their time.
Without a model the finest rung goes first; where a model writes, the coarsest does, and old months are united.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from memorybank.core.granularity import CALENDAR_RUNGS, COARSEST_PERIOD, EPOCH, ONE_WEEK, Granularity

MIN_DIGEST_TOKENS = 80
#: The share of the budget for the lines of written memory; the rest is for labels, headings and estimation errors.
WRITTEN_SHARE = 0.9
#: The minimum and the maximum share of the budget for the background, and the share that it leaves for new entries.
MIN_BACKGROUND_SHARE, MAX_BACKGROUND_SHARE, GROWTH_SHARE = 1 / 2, 3 / 4, 1 / 10
#: Where a model writes digests, no period waits longer than this for late turns: they are added to the digest later.
MAX_WRITTEN_AGE = ONE_WEEK
#: If the facts of a period exceed the first share of the budget, its digest grows with the square root of their size,
#: up to the second share.
LARGE_PERIOD_SHARE, MAX_DIGEST_SHARE = 1 / 2, 1 / 2


@dataclass(frozen=True, slots=True)
class Node:
    """A live entry, as planning sees it. ``last_at`` is the time of its newest turn."""

    id: int
    granularity: Granularity
    period_start: date
    last_at: datetime
    tokens: int


@dataclass(frozen=True, slots=True)
class Step:
    """Digest one period: ``children`` are absorbed, into ``digest`` if there is one already.

    ``passes``: the coarser period that contains this one is due, too, so its entries are passed on unchanged.
    """

    granularity: Granularity
    period_start: date
    children: tuple[int, ...]
    digest: int | None = None
    passes: bool = False


def digest_tokens(granularity: Granularity, budget: int, fact_tokens: int) -> int:
    """How many tokens a digest of this rung may have under ``budget``, of a period whose facts have ``fact_tokens``.

    A long meeting has more facts than a short chat, but also more that need not be kept.
    """
    more = math.sqrt(max(1.0, fact_tokens / max(1.0, budget * LARGE_PERIOD_SHARE)))
    return max(MIN_DIGEST_TOKENS, int(budget * min(granularity.rung.digest_share * more, MAX_DIGEST_SHARE)))


def background_tokens(frontier: Sequence[Node], step: Step, budget: int) -> int:
    """The maximum tokens of the background after ``step``: the budget without the other live entries."""
    united = {*step.children, step.digest}
    beside = sum(node.tokens for node in frontier if node.id not in united)
    room = budget * (WRITTEN_SHARE - GROWTH_SHARE) - beside
    return int(min(max(room, budget * MIN_BACKGROUND_SHARE), budget * MAX_BACKGROUND_SHARE))


def due_at(
    granularity: Granularity, start: date, newest: datetime, tz: ZoneInfo, *, max_age: timedelta = timedelta.max
) -> datetime:
    """When a period may be digested: it is over, and its newest turn is as old as its rung asks for, or ``max_age``."""
    end = granularity.rung.end(start)
    over = datetime(end.year, end.month, end.day, tzinfo=tz)
    return max(over, newest + min(granularity.rung.min_age, max_age))


def over_budget(frontier: Iterable[Node], budget: int, pressure: float) -> bool:
    """Whether the live frontier has outgrown the budget."""
    return sum(node.tokens for node in frontier) > budget * pressure


def due_periods(
    frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, waiting: datetime | None = None
) -> list[Step]:
    """What could be rolled up at ``now``, in the order it should be: finest rung first, oldest first.

    Only the first step is sure to be still right after one is carried out. ``waiting`` is the time of the oldest
    turn that is about to be summarised: a period that it may belong to is not digested just before it comes.
    """
    return _due(_steps(frontier, tz, _next_rung), now, _first_open_day(waiting, tz))


def due_written(
    frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, waiting: datetime | None = None
) -> list[Step]:
    """The same where a model writes digests: coarsest rung first; the finer rungs of that time are passed on unchanged.

    So old entries become dense, new ones stay as they were noted, and each period is written once. When all months are
    written, the background unites those that no longer fit. Days of a week in two months go to their own month
    directly.
    """
    still_open = _first_open_day(waiting, tz)
    due = _due(_written_steps(frontier, tz), now, still_open)
    for step in due:
        if _coarser_is_due(step, frontier, now, tz, still_open):
            return [replace(step, passes=True)]
    due.sort(key=lambda step: -step.granularity.tier)  # stable, so still oldest first
    coarsest = [step for step in due if step.granularity is COARSEST_PERIOD]
    return coarsest or [*_background(frontier), *due]


def _due(steps: Iterable[tuple[Step, datetime]], now: datetime, still_open: date) -> list[Step]:
    due = [step for step, when in steps if when <= now]
    return [step for step in due if step.granularity.rung.end(step.period_start) <= still_open]


def _first_open_day(waiting: datetime | None, tz: ZoneInfo) -> date:
    return waiting.astimezone(tz).date() if waiting else date.max


def _coarser_is_due(step: Step, frontier: Sequence[Node], now: datetime, tz: ZoneInfo, still_open: date) -> bool:
    """Whether the period that a new digest would roll up into could be digested as well."""
    if step.digest or step.granularity.tier >= COARSEST_PERIOD.tier:
        return False
    coarser = _rung_within_month(step.granularity, step.period_start)
    start = coarser.period_above(step.granularity, step.period_start)
    finer = [node for node in frontier if node.granularity.tier < coarser.tier]
    within = [node for node in finer if coarser.period_above(node.granularity, node.period_start) == start]
    when = due_at(coarser, start, max(n.last_at for n in within), tz, max_age=MAX_WRITTEN_AGE)
    return when <= now and coarser.rung.end(start) <= still_open


def _next_rung(finer: Granularity, start: date) -> Granularity:
    return Granularity.of_tier(finer.tier + 1)


def _rung_within_month(finer: Granularity, start: date) -> Granularity:
    """The next rung, but the month for a day whose week is not all in it."""
    monday = Granularity.WEEK.rung.start(start)
    shared = monday.month != (monday + timedelta(days=6)).month
    return Granularity.MONTH if finer is Granularity.DAY and shared else _next_rung(finer, start)


def _background(frontier: Sequence[Node]) -> list[Step]:
    """Unite all live months but the newest with the background; that one, too, if it is the only one."""
    months = sorted((n for n in frontier if n.granularity is COARSEST_PERIOD), key=lambda n: n.period_start)
    standing = next((n.id for n in frontier if n.granularity is Granularity.BACKGROUND), None)
    joining = months[:-1] or (months if standing else [])
    return [Step(Granularity.BACKGROUND, EPOCH, tuple(n.id for n in joining), standing)] if joining else []


def next_due(frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, written: bool = False) -> datetime | None:
    """When something will be due that is not yet; None if only new turns can change anything."""
    steps = _written_steps(frontier, tz) if written else _steps(frontier, tz, _next_rung)
    return min((when for _, when in steps if when > now), default=None)


def _written_steps(frontier: Sequence[Node], tz: ZoneInfo) -> list[tuple[Step, datetime]]:
    return _steps(frontier, tz, _rung_within_month, MAX_WRITTEN_AGE)


def _steps(
    frontier: Sequence[Node],
    tz: ZoneInfo,
    rung_above: Callable[[Granularity, date], Granularity],
    max_age: timedelta = timedelta.max,
) -> list[tuple[Step, datetime]]:
    """Every possible step to a calendar period with the moment it is due."""
    standing = {(n.granularity, n.period_start): n for n in frontier}
    steps = []
    calendar = [node for node in frontier if node.granularity.tier < COARSEST_PERIOD.tier]
    for coarser in CALENDAR_RUNGS:
        groups: dict[tuple[Granularity, date], list[Node]] = {}
        for node in sorted(calendar, key=lambda n: (n.period_start, n.last_at, n.id)):
            if rung_above(node.granularity, node.period_start) is coarser:
                groups.setdefault(_target(node, coarser, standing, tz), []).append(node)
        for (granularity, start), nodes in groups.items():
            own = coarser.period_above(nodes[0].granularity, nodes[0].period_start)
            when = due_at(coarser, own, max(n.last_at for n in nodes), tz, max_age=max_age)
            children = tuple(n.id for n in nodes)
            digest = standing.get((granularity, start))
            steps.append((Step(granularity, start, children, digest.id if digest else None), when))
    return steps


def _target(
    node: Node, coarser: Granularity, standing: dict[tuple[Granularity, date], Node], tz: ZoneInfo
) -> tuple[Granularity, date]:
    """The period a node rolls up into: the coarsest digest already standing over it, else the next rung."""
    for granularity in Granularity.coarsest_first():
        place = (granularity, granularity.period_above(node.granularity, node.period_start))
        digest = standing.get(place)
        if granularity.tier >= coarser.tier and digest and digest.id != node.id and _covers(digest, node, tz):
            return place
    return coarser, coarser.period_above(node.granularity, node.period_start)


def _covers(digest: Node, node: Node, tz: ZoneInfo) -> bool:
    """Whether the node lies in the digest's time; the background holds whole months, up to that of its newest turn."""
    newest = COARSEST_PERIOD.rung.start(digest.last_at.astimezone(tz).date())
    return digest.granularity is not Granularity.BACKGROUND or COARSEST_PERIOD.rung.start(node.period_start) <= newest
