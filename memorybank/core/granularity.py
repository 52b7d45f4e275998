"""The granularities of memory, from chats to the background: the calendar periods, limits and labels of each. Pure.

Chats roll up into days, days into ISO weeks, weeks into calendar months, and months into the background, which has no
period: it holds all that is older, by subject.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Self

ONE_DAY, ONE_WEEK = timedelta(days=1), timedelta(days=7)


#: The first day of the background's only period.
EPOCH = date(1970, 1, 1)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month_end(first: date) -> date:
    # 31 days on is always in the next month.
    return (first + timedelta(days=31)).replace(day=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodKind:
    """The periods, limits and labels of one granularity.

    Labels name a period. They are translated where they are shown, with the first day of the period as ``day`` and its
    month and year as ``month``.
    """

    plural: str
    label: str = "%(day)s"
    label_in_sentence: str = "%(day)s"
    #: How old the newest entry of a closed period must be before the period is digested.
    min_age: timedelta = timedelta(0)
    #: The share of the budget that a digest gets; all digests that can be live at a time fit side by side.
    digest_share: float = 0.0
    #: The first day of the period that a day belongs to.
    start: Callable[[date], date] = lambda day: day
    #: The first day after the period that begins on a day.
    end: Callable[[date], date] = lambda start: start + ONE_DAY
    #: The ISO name of the period that begins on a day.
    key: Callable[[date], str] = date.isoformat


class Granularity(StrEnum):
    """How much time an entry covers, finest first; each absorbs entries of the one before it.

    Database and API have these values.
    """

    CONVERSATION = "conversation"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    BACKGROUND = "background"

    @property
    def period(self) -> PeriodKind:
        """Its periods, limits and labels."""
        return PERIOD_KINDS[self]

    @classmethod
    def coarsest_first(cls) -> tuple[Self, ...]:
        """The order of a block, of its token meter and of the timeline."""
        return tuple(reversed(cls))

    @classmethod
    def of_tier(cls, tier: int) -> Self:
        """The granularity that has this tier."""
        return tuple(cls)[tier]

    @classmethod
    def digests(cls) -> tuple[Self, ...]:
        """Every granularity but that of chats, finest first."""
        return tuple(cls)[1:]

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.value.capitalize()

    @property
    def tier(self) -> int:
        """0 for the finest; a parent's tier is always higher than its children's."""
        return list(Granularity).index(self)

    def period_above(self, finer: "Granularity", start: date) -> date:
        """The start of the period that contains most of a finer one: a week is in the month of its Thursday."""
        return self.period.start(start + (finer.period.end(start) - start) // 2)


PERIOD_KINDS = {
    Granularity.CONVERSATION: PeriodKind(plural="chats"),
    Granularity.DAY: PeriodKind(plural="days", min_age=ONE_DAY, digest_share=1 / 12),
    Granularity.WEEK: PeriodKind(
        plural="weeks",
        label="Week of %(day)s",
        label_in_sentence="the week of %(day)s",
        min_age=ONE_WEEK,
        digest_share=1 / 8,
        start=_monday,
        end=lambda monday: monday + ONE_WEEK,
        key=lambda monday: f"{monday:%G-W%V}",
    ),
    Granularity.MONTH: PeriodKind(
        plural="months",
        label="%(month)s",
        label_in_sentence="%(month)s",
        min_age=timedelta(days=30),
        digest_share=1 / 5,
        start=lambda day: day.replace(day=1),
        end=_month_end,
        key=lambda first: f"{first:%Y-%m}",
    ),
    Granularity.BACKGROUND: PeriodKind(
        plural="background",
        label="Background",
        label_in_sentence="the background",
        start=lambda day: EPOCH,
        end=lambda start: date.max,
        key=lambda start: "background",
    ),
}


def periods_around(first: date, last: date) -> set[tuple[int, date]]:
    """Every period that a chat between these days can roll up into, also by its week: pairs of tier and first day.

    The days beside them count, too, because these may be the days of another time zone.
    """
    first, last = min(first, last) - ONE_DAY, max(first, last) + ONE_DAY
    days = [first + n * ONE_DAY for n in range((last - first).days + 1)]
    own = {(granularity.tier, granularity.period.start(day)) for granularity in Granularity.digests() for day in days}
    weeks = {Granularity.WEEK.period.start(day) for day in days}
    months = {Granularity.MONTH.period_above(Granularity.WEEK, week) for week in weeks}
    return own | {(Granularity.MONTH.tier, month) for month in months}


#: The granularities that have periods, finest first.
CALENDAR_GRANULARITIES = tuple(value for value in Granularity.digests() if value is not Granularity.BACKGROUND)
#: The coarsest granularity with periods: months accumulate until the background absorbs them.
COARSEST_PERIOD = CALENDAR_GRANULARITIES[-1]
