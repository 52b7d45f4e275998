"""Planning roll-ups: which entries roll up into which period, and when. No database."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.core import rollup_policy
from memorybank.core.granularity import EPOCH
from memorybank.core.rollup_policy import Node, Step
from memorybank.models import Granularity

CONVERSATION, DAY, WEEK, MONTH, BACKGROUND = Granularity
BERLIN = ZoneInfo("Europe/Berlin")
UTC_ZONE = ZoneInfo("UTC")
TUESDAY = date(2026, 3, 3)
FAR_FUTURE = datetime(2030, 1, 1, tzinfo=UTC)

days = st.dates(date(2024, 1, 1), date(2028, 12, 31))
_ids = count(1)


def node(granularity: Granularity, day: date, *, hour: int = 12, size: int = 100) -> Node:
    """A live entry of the period ``day`` belongs to, whose newest turn is of that day."""
    newest = datetime.combine(day, time(hour), tzinfo=UTC)
    return Node(next(_ids), granularity, granularity.period.start(day), newest, size)


def ids(nodes: list[Node]) -> tuple[int, ...]:
    return tuple(item.id for item in nodes)


def test_the_conversations_of_a_closed_day_become_one_step() -> None:
    chats = [node(CONVERSATION, TUESDAY, hour=hour) for hour in (15, 9, 11)]
    steps = rollup_policy.due_periods(chats, datetime(2026, 3, 4, 15, tzinfo=UTC), UTC_ZONE)
    by_time = sorted(chats, key=lambda each: each.last_at)
    assert steps == [Step(DAY, TUESDAY, ids(by_time))]


@given(st.sampled_from(Granularity.digests()), st.integers(0, 50_000), st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_digest_grows_with_what_there_is_to_say_but_slower_and_never_over_half_the_budget(
    granularity: Granularity, budget: int, less: int, more: int
) -> None:
    less, more = sorted((less, more))
    short, long = (rollup_policy.digest_tokens(granularity, budget, size) for size in (less, more))
    assert rollup_policy.MIN_DIGEST_TOKENS <= short <= long <= max(rollup_policy.MIN_DIGEST_TOKENS, budget // 2)
    if short > rollup_policy.MIN_DIGEST_TOKENS and less:
        assert long <= (short + 1) * max(1, more / less)


def test_a_long_meeting_has_a_longer_digest_than_a_short_chat() -> None:
    chat, meeting = (rollup_policy.digest_tokens(DAY, 2_000, size) for size in (300, 6_000))
    assert meeting > 2 * chat


@pytest.mark.parametrize(
    ("finer", "coarser", "age"),
    [(CONVERSATION, DAY, timedelta(days=1)), (DAY, WEEK, timedelta(days=7)), (WEEK, MONTH, timedelta(days=30))],
)
def test_a_period_waits_until_its_newest_entry_is_as_old_as_its_granularity_asks(
    finer: Granularity, coarser: Granularity, age: timedelta
) -> None:
    last = coarser.period.end(coarser.period.start(TUESDAY)) - timedelta(days=3 if finer is WEEK else 1)
    newest = node(finer, last, hour=23)
    instant = timedelta(microseconds=1)
    assert rollup_policy.due_periods([newest], newest.last_at + age - instant, UTC_ZONE) == []
    steps = rollup_policy.due_periods([newest], newest.last_at + age, UTC_ZONE)
    assert [step.granularity for step in steps] == [coarser]
    assert rollup_policy.next_due([newest], newest.last_at, UTC_ZONE) == newest.last_at + age


def test_nothing_rolls_up_before_its_period_is_over_however_old_it_is() -> None:
    """A month that still runs keeps its weeks, though the newest is more than 30 days old."""
    week = node(WEEK, date(2026, 3, 30))  # its Thursday, 2 April, makes it April's
    month_end = datetime(2026, 5, 1, tzinfo=UTC)
    assert rollup_policy.due_periods([week], month_end - timedelta(microseconds=1), UTC_ZONE) == []
    assert len(rollup_policy.due_periods([week], month_end, UTC_ZONE)) == 1


def test_the_finest_and_then_the_oldest_step_comes_first() -> None:
    frontier = [node(DAY, date(2026, 1, 5)), node(CONVERSATION, date(2026, 2, 3)), node(CONVERSATION, date(2026, 2, 2))]
    steps = rollup_policy.due_periods(frontier, FAR_FUTURE, UTC_ZONE)
    assert [(step.granularity, step.period_start.day) for step in steps] == [(DAY, 2), (DAY, 3), (WEEK, 5)]


def test_pressure_begins_above_a_quarter_more_than_the_budget() -> None:
    at_the_limit = [node(CONVERSATION, TUESDAY, size=1000), node(CONVERSATION, TUESDAY, size=1500)]
    assert not rollup_policy.over_budget(at_the_limit, 2000, 1.25)
    assert rollup_policy.over_budget([*at_the_limit, node(CONVERSATION, TUESDAY, size=1)], 2000, 1.25)


@pytest.mark.parametrize("standing", Granularity.digests())
def test_a_straggler_folds_into_the_digest_that_stands_over_its_day(standing: Granularity) -> None:
    digest, late = node(standing, TUESDAY), node(CONVERSATION, TUESDAY)
    steps = rollup_policy.due_periods([digest, late], datetime(2026, 3, 5, tzinfo=UTC), UTC_ZONE)
    assert steps[0] == Step(standing, digest.period_start, (late.id,), digest.id)


def test_a_straggler_prefers_the_coarsest_digest_that_stands() -> None:
    week, day, late = node(WEEK, TUESDAY), node(DAY, TUESDAY), node(CONVERSATION, TUESDAY)
    assert rollup_policy.due_periods([week, day, late], FAR_FUTURE, UTC_ZONE)[0].digest == week.id


def test_a_step_never_names_its_own_digest_among_its_children() -> None:
    week, day = node(WEEK, TUESDAY), node(DAY, TUESDAY)
    for step in rollup_policy.due_periods([week, day], FAR_FUTURE, UTC_ZONE):
        assert step.digest not in step.children


@given(days)
def test_every_week_is_filed_in_exactly_one_month_that_of_its_thursday(day: date) -> None:
    monday = WEEK.period.start(day)
    assert MONTH.period_above(WEEK, monday) == (monday + timedelta(days=3)).replace(day=1)


@given(days, st.sampled_from([DAY, WEEK, MONTH]))
def test_periods_follow_each_other_without_gap_or_overlap(day: date, granularity: Granularity) -> None:
    start = granularity.period.start(day)
    end = granularity.period.end(start)
    assert day < end
    assert granularity.period.start(end - timedelta(days=1)) == start
    assert granularity.period.start(end) > start
    assert granularity.period.key(start) != granularity.period.key(granularity.period.start(end))


@pytest.mark.parametrize(
    ("granularity", "day", "key"),
    [
        (CONVERSATION, date(2026, 5, 8), "2026-05-08"),
        (DAY, date(2026, 5, 8), "2026-05-08"),
        (WEEK, date(2027, 1, 1), "2026-W53"),
        (MONTH, date(2027, 1, 1), "2027-01"),
        (MONTH, date(2026, 3, 30), "2026-03"),
        (BACKGROUND, date(2026, 3, 30), "background"),
    ],
)
def test_periods_have_iso_names(granularity: Granularity, day: date, key: str) -> None:
    assert granularity.period.key(granularity.period.start(day)) == key


def test_a_day_is_over_at_midnight_of_the_bank_s_zone_even_when_the_clocks_change() -> None:
    """29 March 2026 has 23 hours in Berlin: it is over at 22:00 UTC, not at 23:00."""
    newest = datetime(2026, 3, 20, 12, tzinfo=UTC)
    assert rollup_policy.due_at(DAY, date(2026, 3, 28), newest, BERLIN) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert rollup_policy.due_at(DAY, date(2026, 3, 29), newest, BERLIN) == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_digest_is_sized_by_its_share_of_the_budget() -> None:
    assert rollup_policy.digest_tokens(DAY, 200, 50) == rollup_policy.MIN_DIGEST_TOKENS
    sizes = [rollup_policy.digest_tokens(granularity, 12_000, 500) for granularity in (DAY, WEEK, MONTH)]
    assert sizes == [1000, 1500, 2400]


nodes = st.builds(
    node, st.sampled_from([CONVERSATION, DAY, WEEK, MONTH]), st.dates(date(2025, 11, 1), date(2026, 3, 31))
)


@given(st.lists(nodes, max_size=30))
def test_climbing_ends_absorbs_every_entry_once_and_makes_one_digest_a_period(entries: list[Node]) -> None:
    frontier = without_twins(entries)
    absorbed: Counter[int] = Counter()
    for _ in range(len(Granularity) * len(frontier) + 1):
        steps = rollup_policy.due_periods(frontier, FAR_FUTURE, UTC_ZONE)
        if not steps:
            break
        absorbed.update(steps[0].children)
        frontier = carried_out(steps[0], frontier)
    assert {item.granularity for item in frontier} <= {MONTH}
    assert set(absorbed.values()) <= {1}
    assert len({item.period_start for item in frontier}) == len(frontier)


def without_twins(entries: list[Node]) -> list[Node]:
    """One digest for each period, and any number of conversations."""
    return list(
        {(n.granularity, n.period_start) if n.granularity != CONVERSATION else n.id: n for n in entries}.values()
    )


def carried_out(step: Step, frontier: list[Node]) -> list[Node]:
    """The frontier after a step, as a roll-up leaves it."""
    assert step.children, "a step without children digests nothing"
    gone = {*step.children, step.digest}
    newest = max(item.last_at for item in frontier if item.id in gone)
    digest = Node(step.digest or next(_ids), step.granularity, step.period_start, newest, 100)
    assert all(step.granularity.tier > item.granularity.tier for item in frontier if item.id in step.children)
    return [*(item for item in frontier if item.id not in gone), digest]


@given(st.lists(nodes, max_size=12), st.integers(0, 200))
def test_what_is_ripe_now_or_later_is_all_that_can_ever_happen(entries: list[Node], passed: int) -> None:
    now = datetime(2025, 11, 1, tzinfo=UTC) + timedelta(days=passed)
    ripe, later = rollup_policy.due_periods(entries, now, UTC_ZONE), rollup_policy.next_due(entries, now, UTC_ZONE)
    everything = rollup_policy.due_periods(entries, FAR_FUTURE, UTC_ZONE)
    assert all(step in everything for step in ripe)
    assert (later is None) == (len(ripe) == len(everything))
    assert later is None or (later > now and len(rollup_policy.due_periods(entries, later, UTC_ZONE)) > len(ripe))


@given(entries=st.lists(nodes, max_size=12), passed=st.integers(0, 400), waited=st.integers(0, 400))
def test_what_may_get_another_chat_at_once_is_left_and_nothing_else(
    entries: list[Node], passed: int, waited: int
) -> None:
    now, waiting = (datetime(2025, 11, 1, tzinfo=UTC) + timedelta(days=days) for days in (passed, waited))
    left = rollup_policy.due_periods(entries, now, UTC_ZONE, waiting=waiting)
    for step in rollup_policy.due_periods(entries, now, UTC_ZONE):
        assert (step in left) == (waiting.date() >= step.granularity.period.end(step.period_start))


# --- where a model writes digests --------------------------------------------------------------------


def test_what_a_coarser_due_period_holds_only_passes_through_and_the_month_is_written_once() -> None:
    frontier, steps = [node(CONVERSATION, date(2026, 3, day)) for day in (3, 4, 12)], []
    while due := rollup_policy.due_written(frontier, FAR_FUTURE, UTC_ZONE):
        steps.append(due[0])
        frontier = carried_out(due[0], frontier)
    assert [step.granularity for step in steps] == [DAY, DAY, DAY, WEEK, MONTH]
    assert [step.passes for step in steps] == [True] * 4 + [False]


def test_the_only_day_of_a_week_goes_to_its_month() -> None:
    meetings = [node(DAY, date(2026, 3, day)) for day in (3, 10, 17)]
    [step] = rollup_policy.due_written(meetings, FAR_FUTURE, UTC_ZONE)
    assert (step.granularity, step.children) == (MONTH, tuple(meeting.id for meeting in meetings))


def test_days_of_a_week_that_two_months_share_go_to_their_own_month() -> None:
    march, april = node(DAY, date(2026, 3, 31)), node(DAY, date(2026, 4, 1))
    steps = rollup_policy.due_written([march, april], FAR_FUTURE, UTC_ZONE)
    assert [(step.granularity, step.period_start, step.children) for step in steps] == [
        (MONTH, date(2026, 3, 1), (march.id,)),
        (MONTH, date(2026, 4, 1), (april.id,)),
    ]


def test_the_background_unites_all_months_but_the_newest_once_nothing_else_is_due_for_a_month() -> None:
    months = [node(MONTH, date(2026, month, 1)) for month in (1, 2, 3)]
    [first] = rollup_policy.due_written(months, FAR_FUTURE, UTC_ZONE)
    assert (first.granularity, first.children, first.digest) == (BACKGROUND, ids(months[:2]), None)
    background = replace(node(BACKGROUND, TUESDAY), last_at=months[1].last_at)
    assert rollup_policy.due_written([background, months[2]], FAR_FUTURE, UTC_ZONE) == []
    newer = node(CONVERSATION, date(2026, 4, 7))
    [second] = rollup_policy.due_written([background, months[2], newer], datetime(2026, 4, 7, tzinfo=UTC), UTC_ZONE)
    assert (second.children, second.digest) == (ids(months[2:]), background.id)
    assert rollup_policy.due_written(months[:1], FAR_FUTURE, UTC_ZONE) == []


def test_of_months_due_at_once_only_the_newest_is_written_before_the_others_are_united() -> None:
    notes = [node(DAY, date(2026, month, 3), size=900) for month in (1, 2, 3)]
    frontier, steps = notes, []
    while due := rollup_policy.due_written(frontier, FAR_FUTURE, UTC_ZONE, prompt_tokens=2_400):
        steps.append(due[0])
        frontier = carried_out(due[0], frontier)
    assert [(step.granularity, step.passes) for step in steps] == [
        (MONTH, True),
        (MONTH, True),
        (MONTH, False),
        (BACKGROUND, False),
    ]
    [first, *_] = rollup_policy.due_written(notes, FAR_FUTURE, UTC_ZONE, prompt_tokens=2_300)
    assert not first.passes, "a prompt cannot hold the notes of both, so each month is written from its own"


def test_a_month_has_its_share_of_all_notes_and_at_least_a_tenth_of_the_budget() -> None:
    little, much = (rollup_policy.written_tokens(MONTH, 2_000, size, 18_000) for size in (800, 6_000))
    assert (little, much) == (200, 600)
    assert rollup_policy.written_tokens(MONTH, 2_000, 800, 900) == rollup_policy.digest_tokens(MONTH, 2_000, 800)
    assert rollup_policy.written_tokens(DAY, 500, 10, 18_000) == 50, "so three days leave most of it to the rest"


def test_a_late_chat_joins_the_background_only_if_that_covers_its_time() -> None:
    background = replace(node(BACKGROUND, TUESDAY), last_at=datetime(2026, 2, 27, tzinfo=UTC))
    late, last, new = (node(CONVERSATION, day) for day in (date(2026, 2, 3), date(2026, 2, 28), TUESDAY))
    steps = rollup_policy.due_written([background, late, last, new], datetime(2026, 3, 5, tzinfo=UTC), UTC_ZONE)
    assert [(step.granularity, step.children) for step in steps] == [
        (BACKGROUND, ids([late, last])),
        (DAY, (new.id,)),
    ]


@given(st.integers(0, 3_000), st.integers(0, 3_000))
def test_the_background_gets_what_the_rest_leaves_between_a_half_and_three_quarters(months: int, rest: int) -> None:
    joining, beside = node(MONTH, TUESDAY, size=months), node(CONVERSATION, TUESDAY, size=rest)
    step = Step(BACKGROUND, EPOCH, (joining.id,))
    tokens = rollup_policy.background_tokens([joining, beside], step, 2_000)
    assert 1_000 <= tokens <= 1_500
    assert tokens == 1_000 or tokens + rest <= 2_000


@given(st.lists(nodes, max_size=30))
def test_written_climbing_ends_and_absorbs_every_entry_once(entries: list[Node]) -> None:
    frontier = without_twins(entries)
    absorbed: Counter[int] = Counter()
    for _ in range(len(Granularity) * len(frontier) + 1):
        if not (steps := rollup_policy.due_written(frontier, FAR_FUTURE, UTC_ZONE)):
            break
        absorbed.update(steps[0].children)
        frontier = carried_out(steps[0], frontier)
    assert {item.granularity for item in frontier} <= {MONTH, BACKGROUND}
    assert len(frontier) <= 1 or [item.granularity for item in frontier].count(MONTH) <= 1
    assert set(absorbed.values()) <= {1}
