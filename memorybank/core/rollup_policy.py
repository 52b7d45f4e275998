"""Plan which entries roll up into which period, and how many tokens a digest may have. No database.

Only closed periods roll up, each once; turns that come later are added to the digest that already covers their time.
Without a model, the finest granularity is digested first. If a model writes the digests, the coarsest is, and old
months are merged into the background.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from memorybank.core.granularity import CALENDAR_GRANULARITIES, COARSEST_PERIOD, EPOCH, ONE_WEEK, Granularity
from memorybank.language.terms import word_count

MIN_DIGEST_TOKENS = 80
#: Minimum tokens of a word of a digest, with its share of punctuation, for the word limit in the prompt.
MIN_TOKENS_PER_WORD = 1.2
#: The share of the budget for the lines of written memory; the rest is for labels, headings and estimation errors.
WRITTEN_SHARE = 0.9
#: The minimum and the maximum share of the budget for the background, and the share that it leaves for new entries.
MIN_BACKGROUND_SHARE, MAX_BACKGROUND_SHARE, GROWTH_SHARE = 1 / 2, 3 / 4, 1 / 20
#: The share of the budget that a written digest may have, however little of all notes its period has.
MIN_PERIOD_SHARE = 1 / 10
#: The share of a prompt for the text of notes; the rest is for their numbers and dates.
PROMPT_TEXT_SHARE = 3 / 4
#: Where a model writes digests, no period waits longer than this for late turns: they are added to the digest later.
MAX_WRITTEN_AGE = ONE_WEEK
#: If the facts of a period exceed the first share of the budget, its digest grows with the square root of their size,
#: up to the second share.
LARGE_PERIOD_SHARE, MAX_DIGEST_SHARE = 1 / 2, 1 / 2


#: The granularity that a period of a granularity, by its first day, rolls up into.
GranularityAbove = Callable[[Granularity, date], Granularity]


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
    """The maximum tokens of a digest of this granularity, for a period whose facts have ``fact_tokens``.

    A long meeting has more facts than a short chat, but also more that need not be kept.
    """
    more = math.sqrt(max(1.0, fact_tokens / max(1.0, budget * LARGE_PERIOD_SHARE)))
    return max(MIN_DIGEST_TOKENS, int(budget * min(granularity.period.digest_share * more, MAX_DIGEST_SHARE)))


def written_tokens(granularity: Granularity, budget: int, fact_tokens: int, all_tokens: int) -> int:
    """Like :func:`digest_tokens` if a model writes digests: at most the period's share of ``all_tokens``, all notes.

    So a month that said little leaves its room to the rest of the history. Every period keeps MIN_PERIOD_SHARE. In a
    small budget that may be half of MIN_DIGEST_TOKENS; with all of them three days would take half of the block.
    """
    fair = budget * max(MIN_PERIOD_SHARE, WRITTEN_SHARE * fact_tokens / max(1, all_tokens))
    return max(MIN_DIGEST_TOKENS // 2, min(int(fair), digest_tokens(granularity, budget, fact_tokens)))


def tokens_per_word(lines: Sequence[tuple[str, int]]) -> float:
    """The average of lines, each with its tokens, that are written like the next digest.

    A digest takes up to a third more tokens a word than notes, because it is mostly names, numbers and dates. With the
    average of the notes digests outgrew their room, and their last lines were not shown.
    """
    words = max(1, sum(word_count(text) for text, _ in lines))
    return max(MIN_TOKENS_PER_WORD, sum(size for _, size in lines) / words)


def background_tokens(frontier: Sequence[Node], step: Step, budget: int) -> int:
    """The maximum tokens of the background after ``step``: the budget without the other live entries."""
    united = {*step.children, step.digest}
    beside = sum(node.tokens for node in frontier if node.id not in united)
    room = budget * (WRITTEN_SHARE - GROWTH_SHARE) - beside
    return int(min(max(room, budget * MIN_BACKGROUND_SHARE), budget * MAX_BACKGROUND_SHARE))


def due_at(
    granularity: Granularity, start: date, newest: datetime, tz: ZoneInfo, *, max_age: timedelta = timedelta.max
) -> datetime:
    """The time from which a period may be digested.

    By then it is over, and its newest turn is as old as its granularity's ``min_age``, or ``max_age`` if that is less.
    """
    end = granularity.period.end(start)
    over = datetime(end.year, end.month, end.day, tzinfo=tz)
    return max(over, newest + min(granularity.period.min_age, max_age))


def over_budget(frontier: Iterable[Node], budget: int, pressure: float) -> bool:
    """Whether the live frontier has outgrown the budget."""
    return sum(node.tokens for node in frontier) > budget * pressure


def due_periods(
    frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, waiting: datetime | None = None
) -> list[Step]:
    """The steps that are due at ``now``, in the order to carry them out: finest granularity first, oldest first.

    Plan again after each step, because it may change the others. ``waiting`` is the time of the oldest turn that is
    about to be summarised: periods that it may belong to are not digested before it.
    """
    return _due(_steps(frontier, tz, _next_granularity), now, _first_open_day(waiting, tz))


def due_written(
    frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, waiting: datetime | None = None, prompt_tokens: int = 0
) -> list[Step]:
    """Like :func:`due_periods` if a model writes digests: the coarsest first; finer entries are passed on unchanged.

    So old entries become dense, new ones stay as they were noted, and each period is written once. When all months are
    written, the background absorbs those that no longer fit. Of several due months only the newest is written if the
    notes of the others fit a prompt of ``prompt_tokens``: the background absorbs them next. Days of a week in two
    months roll up into their own month directly, and so does the only day of a week: the week's digest would be made
    of the same notes.
    """
    still_open = _first_open_day(waiting, tz)
    granularity_above = _granularities_within_month(frontier)
    due = _due(_steps(frontier, tz, granularity_above, MAX_WRITTEN_AGE), now, still_open)
    for step in due:
        if _coarser_is_due(step, frontier, granularity_above, now, tz, still_open):
            return [replace(step, passes=True)]
    due.sort(key=lambda step: -step.granularity.tier)  # stable, so still oldest first
    months = [step for step in due if step.granularity is COARSEST_PERIOD and not step.digest]
    if len(months) > 1 and _background_tokens_read(frontier, months[:-1]) <= prompt_tokens * PROMPT_TEXT_SHARE:
        return [replace(months[0], passes=True)]
    coarsest = [step for step in due if step.granularity is COARSEST_PERIOD]
    return coarsest or [*_background(frontier), *due]


def _background_tokens_read(frontier: Sequence[Node], joining: Sequence[Step]) -> int:
    """The tokens that the background would be written from: the months before, and those of ``joining`` unwritten."""
    unwritten = {child for step in joining for child in step.children}
    coarse = (COARSEST_PERIOD, Granularity.BACKGROUND)
    return sum(node.tokens for node in frontier if node.granularity in coarse or node.id in unwritten)


def _due(steps: Iterable[tuple[Step, datetime]], now: datetime, still_open: date) -> list[Step]:
    due = [step for step, when in steps if when <= now]
    return [step for step in due if step.granularity.period.end(step.period_start) <= still_open]


def _first_open_day(waiting: datetime | None, tz: ZoneInfo) -> date:
    return waiting.astimezone(tz).date() if waiting else date.max


def _coarser_is_due(
    step: Step,
    frontier: Sequence[Node],
    granularity_above: GranularityAbove,
    now: datetime,
    tz: ZoneInfo,
    still_open: date,
) -> bool:
    """Whether the period that a new digest would roll up into could be digested as well."""
    if step.digest or step.granularity.tier >= COARSEST_PERIOD.tier:
        return False
    coarser = granularity_above(step.granularity, step.period_start)
    start = coarser.period_above(step.granularity, step.period_start)
    finer = [node for node in frontier if node.granularity.tier < coarser.tier]
    within = [node for node in finer if coarser.period_above(node.granularity, node.period_start) == start]
    when = due_at(coarser, start, max(n.last_at for n in within), tz, max_age=MAX_WRITTEN_AGE)
    return when <= now and coarser.period.end(start) <= still_open


def _next_granularity(finer: Granularity, start: date) -> Granularity:
    return Granularity.of_tier(finer.tier + 1)


def _granularities_within_month(frontier: Iterable[Node]) -> GranularityAbove:
    """The next granularity; but the month for a day whose week is in two months, or has no other day."""
    days: dict[date, set[date]] = defaultdict(set)
    for node in frontier:
        if node.granularity.tier <= Granularity.WEEK.tier:
            last = node.granularity.period.end(node.period_start) - timedelta(days=1)
            days[Granularity.WEEK.period.start(node.period_start)] |= {node.period_start, last}

    def granularity_above(finer: Granularity, start: date) -> Granularity:
        monday = Granularity.WEEK.period.start(start)
        shared = monday.month != (monday + timedelta(days=6)).month
        skips_week = finer is Granularity.DAY and (shared or len(days[monday]) < 2)
        return Granularity.MONTH if skips_week else _next_granularity(finer, start)

    return granularity_above


def _background(frontier: Sequence[Node]) -> list[Step]:
    """The step, if any, that merges all live months but the newest into the background.

    A single month is merged only if the background exists and newer entries need its room.
    """
    months = sorted((n for n in frontier if n.granularity is COARSEST_PERIOD), key=lambda n: n.period_start)
    standing = next((n.id for n in frontier if n.granularity is Granularity.BACKGROUND), None)
    newer = any(n.granularity.tier < COARSEST_PERIOD.tier for n in frontier)
    joining = months[:-1] or (months if standing and newer else [])
    return [Step(Granularity.BACKGROUND, EPOCH, tuple(n.id for n in joining), standing)] if joining else []


def next_due(frontier: Sequence[Node], now: datetime, tz: ZoneInfo, *, written: bool = False) -> datetime | None:
    """The time at which the next step becomes due; None if no step will be due without new turns."""
    if written:
        steps = _steps(frontier, tz, _granularities_within_month(frontier), MAX_WRITTEN_AGE)
    else:
        steps = _steps(frontier, tz, _next_granularity)
    return min((when for _, when in steps if when > now), default=None)


def _steps(
    frontier: Sequence[Node],
    tz: ZoneInfo,
    granularity_above: GranularityAbove,
    max_age: timedelta = timedelta.max,
) -> list[tuple[Step, datetime]]:
    """Every possible step to a calendar period with the moment it is due."""
    standing = {(n.granularity, n.period_start): n for n in frontier}
    steps = []
    calendar = [node for node in frontier if node.granularity.tier < COARSEST_PERIOD.tier]
    for coarser in CALENDAR_GRANULARITIES:
        groups: dict[tuple[Granularity, date], list[Node]] = {}
        for node in sorted(calendar, key=lambda n: (n.period_start, n.last_at, n.id)):
            if granularity_above(node.granularity, node.period_start) is coarser:
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
    """The period that a node rolls up into: that of the coarsest digest that covers it, else the next coarser."""
    for granularity in Granularity.coarsest_first():
        place = (granularity, granularity.period_above(node.granularity, node.period_start))
        digest = standing.get(place)
        if granularity.tier >= coarser.tier and digest and digest.id != node.id and _covers(digest, node, tz):
            return place
    return coarser, coarser.period_above(node.granularity, node.period_start)


def _covers(digest: Node, node: Node, tz: ZoneInfo) -> bool:
    """Whether the node lies in the digest's time; the background holds whole months, up to that of its newest turn."""
    newest = COARSEST_PERIOD.period.start(digest.last_at.astimezone(tz).date())
    return digest.granularity is not Granularity.BACKGROUND or COARSEST_PERIOD.period.start(node.period_start) <= newest
