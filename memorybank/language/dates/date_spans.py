"""A day, week, month or year of the calendar, and its written form."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from dateutil.relativedelta import relativedelta

from memorybank.language import pack

Unit = Literal["day", "week", "month", "year"]

MONTHS = tuple(names.split()[0].capitalize() for names in pack("en").dates.months)


def format_date(day: date) -> str:
    """``7 May 2023``: the only date format in memory, whatever the locale."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year:04}"


@dataclass(frozen=True, slots=True)
class CalendarSpan:
    """The day, week, month or year that contains ``day``. ``around`` marks a vague phrase."""

    unit: Unit
    day: date
    around: bool = False

    def iso(self) -> str:
        """ISO 8601, as short as the unit allows; a week is its Monday and Sunday."""
        if self.unit == "week":
            monday = self.day - timedelta(days=self.day.weekday())
            return f"{monday.isoformat()}/{(monday + timedelta(days=6)).isoformat()}"
        return self.day.isoformat()[: {"day": 10, "month": 7, "year": 4}[self.unit]]


def shifted(said_on: date, unit: Unit, by: int) -> date | None:
    """``said_on`` moved by ``by`` units; None past the end of the calendar."""
    steps = {
        "day": relativedelta(days=by),
        "week": relativedelta(weeks=by),
        "month": relativedelta(months=by),
        "year": relativedelta(years=by),
    }
    try:
        moved: date = said_on + steps[unit]
    except (OverflowError, ValueError):
        return None
    return moved


def on_weekday(said_on: date, weekday: int, weeks: int) -> date | None:
    """The weekday (Monday is 0) of the calendar week that is ``weeks`` away from ``said_on``."""
    return shifted(said_on, "day", 7 * weeks + weekday - said_on.weekday())
