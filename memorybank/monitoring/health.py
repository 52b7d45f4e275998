"""How the memory of all banks fares, in numbers for whoever watches: what waits, for how long, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal

from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import Coalesce, Greatest

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Chat, LLMCall, LLMEndpoint, PromptCount, Sweep


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of one purpose with one outcome."""

    purpose: str
    outcome: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Vitals:
    """All banks in numbers, none of them named. Seconds are 0.0 where nothing waits.

    ``calls`` and ``prompts`` count since midnight (UTC): what they cost to read is bounded by a day.
    """

    due: int
    failing: int
    parked: int
    lag_seconds: float
    block_seconds: float
    endpoints_down: int
    last_sweep: datetime | None
    prompts: Mapping[str, int]
    calls: tuple[Calls, ...]


def last_sweep() -> datetime | None:
    """When somebody last looked for what is due; None: never."""
    return Sweep.objects.values_list("at", flat=True).first()


def failing(bank: Bank | None = None) -> int:
    """Chats that failed when last tried and wait for their next try, of one bank or all."""
    chats = Chat.objects.failing()
    return (chats.filter(bank=bank) if bank else chats).count()


@at_present
def vitals(*, now: datetime = PRESENT) -> Vitals:
    """How the memory of all banks fares, in numbers; a few indexed queries, whatever history holds."""
    due = Chat.objects.due(now)
    midnight = datetime.combine(now.astimezone(UTC), time(), UTC)
    prompts = PromptCount.objects.filter(day=midnight.date()).order_by().values_list("memory").annotate(Sum("prompts"))
    return Vitals(
        due=due.count(),
        failing=failing(),
        parked=Chat.objects.parked().count(),
        lag_seconds=_since(due.aggregate(first=Min("due_at"))["first"], now),
        block_seconds=_since(_outdated(now), now),
        endpoints_down=LLMEndpoint.objects.filter(retry_at__gt=now).count(),
        last_sweep=last_sweep(),
        prompts={**dict.fromkeys(PromptCount.Memory.values, 0), **dict(prompts)},
        calls=_calls(LLMCall.objects.filter(at__gte=midnight)),
    )


def _outdated(now: datetime) -> datetime | None:
    """Since when the block that has waited longest waits to be made anew."""
    # A withdrawn block is due since ever (LONG_DUE); it has waited since it was last made.
    since = Greatest("compress_at", Coalesce("settled_at", "compress_at"))
    waiting = Bank.objects.compressible(now).order_by()
    oldest: datetime | None = waiting.aggregate(oldest=Min(since))["oldest"]
    return oldest


def _since(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def _calls(calls: QuerySet[LLMCall]) -> tuple[Calls, ...]:
    sums = {
        "calls": Count("pk"),
        "prompt": Sum("prompt_tokens"),
        "completion": Sum("completion_tokens"),
        "spent": Coalesce(Sum("cost"), Decimal()),
    }
    rows = calls.order_by("purpose", "outcome").values_list("purpose", "outcome").annotate(**sums)
    return tuple(Calls(*row) for row in rows)
