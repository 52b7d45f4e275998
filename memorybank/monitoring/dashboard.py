"""What an operator looks at first: what waits, what is in trouble, whether the model answers, what each day cost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db.models import Count, Min, QuerySet, Sum
from django.db.models.functions import TruncDate

from memorybank import llm
from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Chat, Fact, LLMCall, LLMEndpoint, PromptCount
from memorybank.monitoring.health import last_sweep
from memorybank.monitoring.time_series import DAYS, Curve, curves, first_day, tokens_by_bank


@dataclass(frozen=True, slots=True)
class Day:
    """What models cost on a day (UTC), by purpose. ``calls`` counts them."""

    day: date
    calls: int
    costs: dict[str, Decimal]

    @property
    def cost(self) -> Decimal:
        """All purposes together."""
        return sum(self.costs.values(), Decimal())


@dataclass(frozen=True, slots=True)
class Model:
    """The summary model. ``up_since`` is None before its first answer and while it fails."""

    name: str
    up_since: datetime | None = None
    retry_at: datetime | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """Some banks in numbers. ``model`` is None if there is none: memory is extracted.

    ``due_since`` is when the chat fell due that waits longest; ``without_memory`` counts today's (UTC) prompts for
    which memory failed; ``tokens`` are those of the thirstiest banks, by id.
    """

    due: int
    due_since: datetime | None
    failing: int
    parked: int
    held_back: int
    capped: int
    without_memory: int
    model: Model | None
    last_sweep: datetime | None
    days: tuple[Day, ...]
    curves: tuple[Curve, ...]
    tokens: Mapping[int, int]


@at_present
def board(banks: QuerySet[Bank], *, now: datetime = PRESENT) -> Board:
    """What an operator of these banks looks at first; nothing of any other bank is counted."""
    ids = banks.order_by().values("pk")
    chats = Chat.objects.filter(bank__in=ids)
    # Of a private chat nothing is shown, not even that a line of it waits.
    held = Fact.objects.filter(bank__in=ids).exclude(quarantine="").exclude(entry__chat__private=True)
    return Board(
        **chats.due(now).aggregate(due=Count("pk"), due_since=Min("due_at")),
        failing=chats.failing().count(),
        parked=chats.parked().count(),
        held_back=held.count(),
        capped=Bank.objects.filter(pk__in=ids, capped_at__isnull=False).count(),
        without_memory=_without_memory(PromptCount.objects.filter(bank__in=ids), now),
        model=_model(now),
        last_sweep=last_sweep(),
        days=tuple(_days(LLMCall.objects.filter(bank__in=ids), now)),
        curves=curves(ids, now),
        tokens=tokens_by_bank(banks, now),
    )


def _without_memory(prompts: QuerySet[PromptCount], now: datetime) -> int:
    failed = prompts.filter(day=now.astimezone(UTC).date(), memory=PromptCount.Memory.FAILED)
    return failed.aggregate(n=Sum("prompts"))["n"] or 0


def _model(now: datetime) -> Model | None:
    model = llm.get("summary")
    if model is None:
        return None
    endpoint = LLMEndpoint.objects.filter(fingerprint=model.fingerprint).first()
    if endpoint is None:
        return Model(model.model)
    return Model(model.model, endpoint.up_since, endpoint.retry_at, endpoint.last_error)


def _days(calls: QuerySet[LLMCall], now: datetime) -> Iterator[Day]:
    """The last days, oldest first, those without a call as well."""
    first = first_day(now)
    lately = calls.filter(at__gte=datetime.combine(first, time(), UTC)).annotate(day=TruncDate("at", tzinfo=UTC))
    found = lately.order_by().values_list("day", "purpose").annotate(n=Count("pk"), cost=Sum("cost"))
    purposes: defaultdict[date, list[tuple[str, int, Decimal]]] = defaultdict(list)
    for day, purpose, calls_made, cost in found:
        purposes[day].append((purpose, calls_made, cost or Decimal()))
    for day in (first + timedelta(days=number) for number in range(DAYS)):
        own = purposes[day]
        yield Day(day, sum(made for _, made, _ in own), {purpose: cost for purpose, _, cost in own})
