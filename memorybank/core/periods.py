"""The rungs of the ladder and the calendar periods on them. Pure.

Rungs are conversation → day → ISO week → month; a week belongs to the month of its Thursday, so that no
week is filed twice.
"""

from datetime import date, timedelta
from enum import StrEnum


class Granularity(StrEnum):
    """The rungs of the ladder, finest first."""

    CONVERSATION = "conversation"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.value.capitalize()

    @property
    def rank(self) -> int:
        """0 for the finest; a parent's rank is always higher than its children's."""
        return list(Granularity).index(self)

    @property
    def tier(self) -> int:
        """Its place in a block, which opens with the coarsest: 0 for months, 3 for conversations."""
        return len(Granularity) - 1 - self.rank


def period_start(granularity: Granularity, day: date) -> date:
    """The first day of the period of ``granularity`` that ``day`` belongs to."""
    if granularity is Granularity.WEEK:
        return day - timedelta(days=day.weekday())
    if granularity is Granularity.MONTH:
        thursday = day - timedelta(days=day.weekday()) + timedelta(days=3)
        return thursday.replace(day=1)
    return day


def period_end(granularity: Granularity, start: date) -> date:
    """The first day after the period. A month of weeks ends after the week of its last Thursday."""
    if granularity is Granularity.WEEK:
        return start + timedelta(days=7)
    if granularity is Granularity.MONTH:
        # 31 days on is always in the next month, because ``start`` is a first.
        next_month = (start + timedelta(days=31)).replace(day=1)
        last_day = next_month - timedelta(days=1)
        last_thursday = last_day - timedelta(days=(last_day.weekday() - 3) % 7)
        # The Sunday of that week is over when the Monday begins: four days after its Thursday.
        return last_thursday + timedelta(days=4)
    return start + timedelta(days=1)


def period_key(granularity: Granularity, start: date) -> str:
    """Its name: 2026-05-08, 2026-W19, 2026-05."""
    if granularity is Granularity.WEEK:
        year, week, _ = start.isocalendar()
        return f"{year}-W{week:02}"
    return f"{start:%Y-%m}" if granularity is Granularity.MONTH else f"{start:%Y-%m-%d}"
