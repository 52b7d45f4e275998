"""Health metrics of all banks: waiting work and its age, failures, model calls and costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal

from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import Coalesce, Greatest

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Chat, LLMCall, LLMEndpoint, PromptCount, Sweep


@dataclass(frozen=True, slots=True)
class CallTotals:
    purpose: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class HealthMetrics:
    """Totals over all banks. ``lag_seconds`` and ``block_seconds`` are 0.0 if no work waits.

    ``calls`` and ``prompts`` count from midnight (UTC), which limits the rows to read.
    """

    due: int
    failing: int
    parked: int
    lag_seconds: float
    block_seconds: float
    endpoints_down: int
    last_sweep: datetime | None
    prompts: Mapping[str, int]
    calls: tuple[CallTotals, ...]


def last_sweep() -> datetime | None:
    """The time of the last sweep for due work; None if there was none."""
    return Sweep.objects.values_list("at", flat=True).first()


def count_failing_chats(bank: Bank | None = None) -> int:
    """The number of chats whose last attempt failed and that wait for a retry, in one bank or in all."""
    chats = Chat.objects.failing()
    return (chats.filter(bank=bank) if bank else chats).count()


@at_present
def health_metrics(*, now: datetime = PRESENT) -> HealthMetrics:
    """The health metrics of all banks. Makes a few indexed queries, however long the history is."""
    due = Chat.objects.due(now)
    midnight = datetime.combine(now.astimezone(UTC), time(), UTC)
    prompts = PromptCount.objects.filter(day=midnight.date()).order_by().values_list("memory").annotate(Sum("prompts"))
    return HealthMetrics(
        due=due.count(),
        failing=count_failing_chats(),
        parked=Chat.objects.parked().count(),
        lag_seconds=_seconds_since(due.aggregate(first=Min("due_at"))["first"], now),
        block_seconds=_seconds_since(_oldest_outdated_block(now), now),
        endpoints_down=LLMEndpoint.objects.filter(retry_at__gt=now).count(),
        last_sweep=last_sweep(),
        prompts={**dict.fromkeys(PromptCount.Memory.values, 0), **dict(prompts)},
        calls=_calls(LLMCall.objects.filter(at__gte=midnight)),
    )


def _oldest_outdated_block(now: datetime) -> datetime | None:
    """The time since which the longest-waiting block has waited for its new rendering."""
    # The due time of an invalidated block is LONG_DUE; it has waited since the bank was last consolidated.
    since = Greatest("consolidate_at", Coalesce("consolidated_at", "consolidate_at"))
    waiting = Bank.objects.due_for_consolidation(now).order_by()
    oldest: datetime | None = waiting.aggregate(oldest=Min(since))["oldest"]
    return oldest


def _seconds_since(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def _calls(calls: QuerySet[LLMCall]) -> tuple[CallTotals, ...]:
    sums = {
        "calls": Count("pk"),
        "prompt": Sum("prompt_tokens"),
        "completion": Sum("completion_tokens"),
        "spent": Coalesce(Sum("cost"), Decimal()),
    }
    rows = calls.order_by("purpose", "outcome").values_list("purpose", "outcome").annotate(**sums)
    return tuple(CallTotals(*row) for row in rows)
