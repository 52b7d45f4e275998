"""Time series of some banks, one value a day, for the dashboard's charts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, F, QuerySet, Sum, Window
from django.db.models.functions import Ceil, RowNumber, TruncDate
from django.utils.translation import gettext as _

from memorybank.models import Bank, BankDay, LLMCall

DAYS_SHOWN = 14
#: Calls that summarise chats.
SUMMARY_PURPOSES = (LLMCall.Purpose.SUMMARY, LLMCall.Purpose.CHUNK, LLMCall.Purpose.MERGE)


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A value for each of the last days, oldest first; None where there was nothing to measure."""

    name: str
    unit: str
    values: tuple[float | None, ...]

    @property
    def last(self) -> float | None:
        return next((value for value in reversed(self.values) if value is not None), None)


def load_time_series(banks: QuerySet[Any], now: datetime) -> tuple[TimeSeries, ...]:
    """Tokens, chats due at once, call durations, and the share of budgets in use."""
    recent = LLMCall.objects.filter(bank__in=banks, at__gte=datetime.combine(first_day(now), time(), UTC))
    calls: QuerySet[Any] = recent.annotate(day=TruncDate("at", tzinfo=UTC)).order_by()
    tokens = dict(calls.values_list("day").annotate(n=Sum(F("prompt_tokens") + F("completion_tokens"))))
    days = BankDay.objects.filter(bank__in=banks, day__gte=first_day(now)).order_by().values_list("day")
    due = dict(days.annotate(n=Sum("due")))
    full = days.filter(budget__gt=0).annotate(used=Sum("block_tokens"), of=Sum("budget"))
    return (
        _series(_("Tokens a day"), "", now, tokens, empty=0),
        _series(_("Peak queue"), "", now, due, empty=0),
        _series(_("Half of summary calls (p50) take up to"), "s", now, _latency(calls, 0.5)),
        _series(_("95 of 100 (p95) take up to"), "s", now, _latency(calls, 0.95)),
        _series(_("Budget in use"), "%", now, {day: 100 * used / of for day, used, of in full}),
    )


def first_day(now: datetime) -> date:
    return now.astimezone(UTC).date() - timedelta(days=DAYS_SHOWN - 1)


def _series(
    name: str, unit: str, now: datetime, by_day: Mapping[date, float], empty: float | None = None
) -> TimeSeries:
    days = (first_day(now) + timedelta(days=number) for number in range(DAYS_SHOWN))
    return TimeSeries(name, unit, tuple(by_day.get(day, empty) for day in days))


def _latency(calls: QuerySet[Any], share: float) -> dict[date, float]:
    """For each day, the seconds within which this share of its successful calls ended. The database picks the row."""
    answered = calls.filter(purpose__in=SUMMARY_PURPOSES, outcome=LLMCall.Outcome.OK)
    by_day: dict[str, Any] = {"partition_by": [F("day")]}
    ranked = answered.annotate(
        place=Window(RowNumber(), order_by="duration_ms", **by_day), all_of_day=Window(Count("pk"), **by_day)
    )
    picked = ranked.filter(place=Ceil(F("all_of_day") * share)).values_list("day", "duration_ms")
    return {day: milliseconds / 1000 for day, milliseconds in picked}


def tokens_by_bank(banks: QuerySet[Bank], now: datetime, most: int = 10) -> dict[int, int]:
    """The tokens of each bank in these days, the largest first."""
    since = datetime.combine(first_day(now), time(), UTC)
    calls = LLMCall.objects.filter(bank__in=banks.order_by().values("pk"), at__gte=since).order_by()
    sums = calls.values_list("bank").annotate(n=Sum(F("prompt_tokens") + F("completion_tokens"))).order_by("-n")
    return dict(sums[:most])
