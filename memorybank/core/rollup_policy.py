"""Which entries roll up into which period, under which pressure: planning only, no database.

Only closed periods roll up, each once; a straggler folds into the digest that already stands over its
period, by one re-derivation.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from memorybank.core.granularity import Granularity

MIN_DIGEST_TOKENS = 80
#: A digest of a period that has more to say than this share of the budget grows with the square root of that, up to the
#: other share.
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
    """Digest one period: ``children`` are absorbed, into ``digest`` if it stands already."""

    granularity: Granularity
    period_start: date
    children: tuple[int, ...]
    digest: int | None = None


def digest_tokens(granularity: Granularity, budget: int, fact_tokens: int) -> int:
    """How many tokens a digest of this rung may have under ``budget``, of a period whose facts have ``fact_tokens``.

    A long meeting has more to say than a short chat, and more that is not worth it.
    """
    more = math.sqrt(max(1.0, fact_tokens / max(1.0, budget * LARGE_PERIOD_SHARE)))
    return max(MIN_DIGEST_TOKENS, int(budget * min(granularity.rung.digest_share * more, MAX_DIGEST_SHARE)))


def due_at(granularity: Granularity, start: date, newest: datetime, tz: ZoneInfo) -> datetime:
    """When a period may be digested: it is over, and its newest turn is old enough."""
    end = granularity.rung.end(start)
    over = datetime(end.year, end.month, end.day, tzinfo=tz)
    return max(over, newest + granularity.rung.min_age)


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
    still_open = waiting.astimezone(tz).date() if waiting else date.max
    due = [step for step, when in _steps(frontier, tz) if when <= now]
    return [step for step in due if step.granularity.rung.end(step.period_start) <= still_open]


def next_due(frontier: Sequence[Node], now: datetime, tz: ZoneInfo) -> datetime | None:
    """When something will be due that is not yet; None if only new turns can change anything."""
    return min((when for _, when in _steps(frontier, tz) if when > now), default=None)


def _steps(frontier: Sequence[Node], tz: ZoneInfo) -> list[tuple[Step, datetime]]:
    """Every possible step with the moment it is due."""
    standing = {(n.granularity, n.period_start): n.id for n in frontier}
    steps = []
    for coarser in Granularity.digests():
        groups: dict[tuple[Granularity, date], list[Node]] = {}
        for node in sorted(frontier, key=lambda n: (n.period_start, n.last_at, n.id)):
            if node.granularity is coarser.finer:
                groups.setdefault(_target(node, coarser, standing), []).append(node)
        for (granularity, start), nodes in groups.items():
            own = coarser.period_above(coarser.finer, nodes[0].period_start)
            when = due_at(coarser, own, max(n.last_at for n in nodes), tz)
            children = tuple(n.id for n in nodes)
            steps.append((Step(granularity, start, children, standing.get((granularity, start))), when))
    return steps


def _target(
    node: Node, coarser: Granularity, standing: dict[tuple[Granularity, date], int]
) -> tuple[Granularity, date]:
    """The period a node rolls up into: the coarsest digest already standing over it, else the next rung."""
    for granularity in Granularity.coarsest_first():
        place = (granularity, granularity.period_above(node.granularity, node.period_start))
        if granularity.tier >= coarser.tier and place in standing and standing[place] != node.id:
            return place
    return coarser, coarser.period_above(node.granularity, node.period_start)
