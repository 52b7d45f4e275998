"""Time series with one value per day, for the dashboard's charts and any set of banks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, QuerySet, Sum, Window
from django.db.models.functions import Ceil, RowNumber, TruncDate
from django.utils.translation import gettext as _

from memorybank.models import Bank, BankDay, LLMCall

#: The periods that charts can show, in days.
CHART_PERIOD_DAYS = (14, 90, 365)
#: The default period is the shortest one with calls on at least this many days.
DAYS_WITH_CALLS = 3
MAX_LISTED_BANKS = 10
#: Calls that summarise chats.
SUMMARY_PURPOSES = (LLMCall.Purpose.SUMMARY, LLMCall.Purpose.CHUNK, LLMCall.Purpose.MERGE)


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A value for each of the last days, oldest first; None where there was nothing to measure."""

    name: str
    unit: str
    values: tuple[float | None, ...]

    @property
    def highest(self) -> float:
        return max((value for value in self.values if value is not None), default=0)

    @property
    def last(self) -> float | None:
        return next((value for value in reversed(self.values) if value is not None), None)


@dataclass(frozen=True, slots=True)
class Usage:
    """One bank's model usage in a period."""

    calls: int
    tokens: int
    cost: Decimal


def load_time_series(banks: QuerySet[Any], length: int, now: datetime) -> tuple[TimeSeries, ...]:
    """Daily tokens, due chats, call durations, and used share of the budgets, for ``length`` days."""
    recent = LLMCall.objects.filter(bank__in=banks, at__gte=start(length, now))
    calls: QuerySet[Any] = recent.annotate(day=TruncDate("at", tzinfo=UTC)).order_by()
    tokens = dict(calls.values_list("day").annotate(n=Sum(F("prompt_tokens") + F("completion_tokens"))))
    days = BankDay.objects.filter(bank__in=banks, day__gte=start(length, now).date()).order_by().values_list("day")
    due = dict(days.annotate(n=Sum("due")))
    full = days.filter(budget__gt=0).annotate(used=Sum("block_tokens"), of=Sum("budget"))
    return (
        TimeSeries(_("Tokens a day"), "", _by_day(length, now, tokens, empty=0)),
        TimeSeries(_("Most chats due at once"), "", _by_day(length, now, due, empty=0)),
        TimeSeries(_("Median summary time"), "s", _by_day(length, now, _latency(calls, 0.5))),
        TimeSeries(_("95th percentile of summary times"), "s", _by_day(length, now, _latency(calls, 0.95))),
        TimeSeries(
            _("Memory tokens in use"), "%", _by_day(length, now, {day: 100 * used / of for day, used, of in full})
        ),
    )


def shortest_period(banks: QuerySet[Any], now: datetime) -> int:
    """The shortest period with calls on at least DAYS_WITH_CALLS days; the longest if no period has that many."""
    calls = LLMCall.objects.filter(bank__in=banks, at__gte=start(CHART_PERIOD_DAYS[-1], now)).order_by()
    days: QuerySet[Any] = calls.annotate(day=TruncDate("at", tzinfo=UTC)).values_list("day", flat=True)
    newest = list(days.distinct().order_by("-day")[:DAYS_WITH_CALLS])
    enough = len(newest) == DAYS_WITH_CALLS
    return next(
        (length for length in CHART_PERIOD_DAYS if enough and newest[-1] >= start(length, now).date()),
        CHART_PERIOD_DAYS[-1],
    )


def start(length: int, now: datetime) -> datetime:
    """The start of a period of ``length`` days (UTC) that ends today."""
    return datetime.combine(now.astimezone(UTC).date() - timedelta(days=length - 1), time(), UTC)


def _by_day(
    length: int, now: datetime, values: Mapping[date, float], empty: float | None = None
) -> tuple[float | None, ...]:
    first = start(length, now).date()
    return tuple(values.get(first + timedelta(days=number), empty) for number in range(length))


def _latency(calls: QuerySet[Any], share: float) -> dict[date, float]:
    """The quantile ``share`` of each day's durations, in seconds, of successful calls. The database picks the row."""
    answered = calls.filter(purpose__in=SUMMARY_PURPOSES, outcome=LLMCall.Outcome.OK)
    by_day: dict[str, Any] = {"partition_by": [F("day")]}
    ranked = answered.annotate(
        place=Window(RowNumber(), order_by="duration_ms", **by_day), all_of_day=Window(Count("pk"), **by_day)
    )
    picked = ranked.filter(place=Ceil(F("all_of_day") * share)).values_list("day", "duration_ms")
    return {day: milliseconds / 1000 for day, milliseconds in picked}


def usage_by_bank(banks: QuerySet[Bank], length: int, now: datetime) -> dict[int, Usage]:
    """The usage of the most expensive banks, by bank id; with equal costs, more tokens come first."""
    calls = LLMCall.objects.filter(bank__in=banks.order_by().values("pk"), at__gte=start(length, now)).order_by()
    tokens = Sum(F("prompt_tokens") + F("completion_tokens"))
    sums = calls.values_list("bank").annotate(n=Count("pk"), tokens=tokens, spent=Sum("cost"))
    rows = sums.order_by(F("spent").desc(nulls_last=True), "-tokens")[:MAX_LISTED_BANKS]
    return {bank: Usage(calls, tokens, cost or Decimal()) for bank, calls, tokens, cost in rows}
