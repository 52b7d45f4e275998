"""How some banks fared day by day: for small curves, without a row for each call or chat."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, F, QuerySet, Sum, Window
from django.db.models.functions import Ceil, RowNumber, TruncDate
from django.utils.translation import gettext as _

from memorybank.models import Bank, BankDay, LLMCall

DAYS = 14
#: Calls that make memory of chats.
SUMMARIES = (LLMCall.Purpose.SUMMARY, LLMCall.Purpose.CHUNK, LLMCall.Purpose.MERGE)


@dataclass(frozen=True, slots=True)
class Curve:
    """A value for each of the last days, oldest first; None where there was nothing to measure."""

    name: str
    unit: str
    values: tuple[float | None, ...]

    @property
    def last(self) -> float | None:
        """The newest value that there is."""
        return next((value for value in reversed(self.values) if value is not None), None)


def curves(banks: QuerySet[Any], now: datetime) -> tuple[Curve, ...]:
    """Tokens that models took, chats that were due at once, how long a call took, how full the blocks are."""
    lately = LLMCall.objects.filter(bank__in=banks, at__gte=datetime.combine(first_day(now), time(), UTC))
    calls: QuerySet[Any] = lately.annotate(day=TruncDate("at", tzinfo=UTC)).order_by()
    tokens = dict(calls.values_list("day").annotate(n=Sum(F("prompt_tokens") + F("completion_tokens"))))
    days = BankDay.objects.filter(bank__in=banks, day__gte=first_day(now)).order_by().values_list("day")
    due = dict(days.annotate(n=Sum("due")))
    full = days.filter(budget__gt=0).annotate(used=Sum("block_tokens"), of=Sum("budget"))
    return (
        _curve(_("Tokens a day"), "", now, tokens, empty=0),
        _curve(_("Chats due at once, at most"), "", now, due, empty=0),
        _curve(_("Half of summary calls (p50) take up to"), "s", now, _latency(calls, 0.5)),
        _curve(_("95 of 100 (p95) take up to"), "s", now, _latency(calls, 0.95)),
        _curve(_("Budget in use"), "%", now, {day: 100 * used / of for day, used, of in full}),
    )


def first_day(now: datetime) -> date:
    """The oldest of the days (UTC) that are shown."""
    return now.astimezone(UTC).date() - timedelta(days=DAYS - 1)


def _curve(name: str, unit: str, now: datetime, found: Mapping[date, float], empty: float | None = None) -> Curve:
    days = (first_day(now) + timedelta(days=number) for number in range(DAYS))
    return Curve(name, unit, tuple(found.get(day, empty) for day in days))


def _latency(calls: QuerySet[Any], share: float) -> dict[date, float]:
    """Of each day the seconds within which this share of its answered calls was over. The database picks the row."""
    answered = calls.filter(purpose__in=SUMMARIES, outcome=LLMCall.Outcome.OK)
    each_day: dict[str, Any] = {"partition_by": [F("day")]}
    ranked = answered.annotate(
        place=Window(RowNumber(), order_by="duration_ms", **each_day), all_of_day=Window(Count("pk"), **each_day)
    )
    picked = ranked.filter(place=Ceil(F("all_of_day") * share)).values_list("day", "duration_ms")
    return {day: milliseconds / 1000 for day, milliseconds in picked}


def tokens_by_bank(banks: QuerySet[Bank], now: datetime, most: int = 10) -> dict[int, int]:
    """What models read and wrote in these days for each bank, the thirstiest first."""
    since = datetime.combine(first_day(now), time(), UTC)
    calls = LLMCall.objects.filter(bank__in=banks.order_by().values("pk"), at__gte=since).order_by()
    sums = calls.values_list("bank").annotate(n=Sum(F("prompt_tokens") + F("completion_tokens"))).order_by("-n")
    return dict(sums[:most])
