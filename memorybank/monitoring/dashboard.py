"""The operator's dashboard: pending and failing work, the models' status and ratings, and daily costs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Min, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from memorybank import llm
from memorybank.clock import PRESENT, at_present
from memorybank.models import AnswerRating, Bank, Chat, Fact, LLMCall, LLMEndpoint, PromptCount
from memorybank.monitoring.health import last_sweep
from memorybank.monitoring.time_series import (
    CHART_PERIOD_DAYS,
    TimeSeries,
    Usage,
    load_time_series,
    shortest_period,
    start,
    usage_by_bank,
)


@dataclass(frozen=True, slots=True)
class DailyCost:
    """The cost of model calls on a day (UTC), by purpose, and the number of calls."""

    day: date
    calls: int
    costs: dict[str, Decimal]

    @property
    def cost(self) -> Decimal:
        return sum(self.costs.values(), Decimal())


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The status of a model. ``up_since`` is None before its first answer and while it fails.

    ``answered_at`` and ``failed_at`` are set for the chat model only: its last answer and last failure in the ledger.
    """

    name: str
    up_since: datetime | None = None
    retry_at: datetime | None = None
    error: str = ""
    answered_at: datetime | None = None
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelRating:
    """How people rated the answers of a model ("": not known)."""

    model: str
    helpful: int
    rated: int

    @property
    def percent(self) -> int:
        return round(100 * self.helpful / self.rated)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Figures of some banks. ``model`` is None without a model: facts are then extracted.

    ``due_since`` is when the longest-waiting chat fell due; ``without_memory`` counts today's (UTC) prompts for which
    memory failed; ``usage`` is that of the most expensive banks, by id. Charts and usage cover ``period`` days.
    """

    due: int
    due_since: datetime | None
    failing: int
    parked: int
    quarantined: int
    capped: int
    without_memory: int
    model: ModelStatus | None
    chat_model: ModelStatus | None
    last_sweep: datetime | None
    days: tuple[DailyCost, ...]
    time_series: tuple[TimeSeries, ...]
    usage: Mapping[int, Usage]
    ratings: tuple[ModelRating, ...]
    period: int


@at_present
def load_dashboard(banks: QuerySet[Bank], *, period: int = 0, now: datetime = PRESENT) -> Dashboard:
    """The dashboard of these banks. ``period`` is in ``CHART_PERIOD_DAYS`` or the days of this month (UTC) so far.

    Any other value is replaced with one of ``CHART_PERIOD_DAYS``.
    """
    ids = banks.order_by().values("pk")
    if period not in (*CHART_PERIOD_DAYS, now.astimezone(UTC).day):
        period = shortest_period(ids, now)
    chats = Chat.objects.filter(bank__in=ids)
    # Private chats must leave no trace here, so their quarantined lines are not counted either.
    quarantined = Fact.objects.filter(bank__in=ids).exclude(quarantine="").visible_to()
    return Dashboard(
        **chats.due(now).aggregate(due=Count("pk"), due_since=Min("due_at")),
        failing=chats.failing().count(),
        parked=chats.parked().count(),
        quarantined=quarantined.count(),
        capped=Bank.objects.filter(pk__in=ids, capped_at__isnull=False).count(),
        without_memory=_without_memory(PromptCount.objects.filter(bank__in=ids), now),
        model=_model(),
        chat_model=_chat_model(LLMCall.objects.filter(bank__in=ids)),
        last_sweep=last_sweep(),
        days=tuple(_days(LLMCall.objects.filter(bank__in=ids), period, now)),
        time_series=load_time_series(ids, period, now),
        usage=usage_by_bank(banks, period, now),
        ratings=_ratings(AnswerRating.objects.filter(output__chat__bank__in=ids, at__gte=start(period, now))),
        period=period,
    )


def _without_memory(prompts: QuerySet[PromptCount], now: datetime) -> int:
    failed = prompts.filter(day=now.astimezone(UTC).date(), memory=PromptCount.Memory.FAILED)
    return failed.aggregate(n=Sum("prompts"))["n"] or 0


def _model() -> ModelStatus | None:
    model = llm.get("summary")
    if model is None:
        return None
    endpoint = LLMEndpoint.objects.filter(fingerprint=model.fingerprint).first()
    if endpoint is None:
        return ModelStatus(model.model)
    return ModelStatus(model.model, endpoint.up_since, endpoint.retry_at, endpoint.last_error)


def _chat_model(calls: QuerySet[LLMCall]) -> ModelStatus | None:
    """The chat model's status from the ledger: chats have no circuit breaker, because a person waits for the answer."""
    model = llm.get("chat")
    if model is None:
        return None
    asked = calls.filter(purpose=LLMCall.Purpose.CHAT, model__startswith=model.model).order_by("-at", "-pk")
    answered = asked.filter(outcome=LLMCall.Outcome.OK).values_list("at", flat=True).first()
    failed = asked.exclude(outcome=LLMCall.Outcome.OK).first()
    if failed is None or (answered and answered > failed.at):
        return ModelStatus(model.model, answered_at=answered, failed_at=failed.at if failed else None)
    return ModelStatus(model.model, answered_at=answered, failed_at=failed.at, error=failed.error)


def _ratings(ratings: QuerySet[AnswerRating]) -> tuple[ModelRating, ...]:
    """The ratings of each model's answers, the most rated model first."""
    counts = ratings.order_by().values_list("model").annotate(good=Count("pk", filter=Q(helpful=True)), n=Count("pk"))
    return tuple(ModelRating(*row) for row in sorted(counts, key=lambda row: (-row[2], row[0])))


def _days(calls: QuerySet[LLMCall], period: int, now: datetime) -> Iterator[DailyCost]:
    """The costs of each day of a period, oldest first, including days without a call."""
    first = start(period, now).date()
    recent = calls.filter(at__gte=start(period, now)).annotate(day=TruncDate("at", tzinfo=UTC))
    rows = recent.order_by().values_list("day", "purpose").annotate(n=Count("pk"), cost=Sum("cost"))
    purposes: defaultdict[date, list[tuple[str, int, Decimal]]] = defaultdict(list)
    for day, purpose, calls_made, cost in rows:
        purposes[day].append((purpose, calls_made, cost or Decimal()))
    for day in (first + timedelta(days=number) for number in range(period)):
        own = purposes[day]
        yield DailyCost(day, sum(count for _, count, _ in own), {purpose: cost for purpose, _, cost in own})
