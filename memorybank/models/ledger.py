"""What the models cost and how they fare: one row a call, one row an endpoint."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from time import monotonic
from typing import ClassVar, Protocol

from django.db import models, transaction
from django.db.models import Q

from memorybank import conf
from memorybank.exceptions import LLMError

from .bank import Bank
from .public_id import public_id


def backoff(failures: int, draw: Callable[[], float] = random.random) -> timedelta:
    """Exponential pause with jitter (AWS's "equal jitter"): half fixed, half drawn from 0…1."""
    now = conf.current()
    ceiling = min(now.backoff_max_seconds, now.backoff_seconds * 2 ** min(max(failures, 1) - 1, 20))
    return timedelta(seconds=ceiling / 2 + ceiling / 2 * draw())


class LLMEndpointQuerySet(models.QuerySet["LLMEndpoint"]):
    """Sets of endpoints."""

    def admit(self, fingerprint: str, now: datetime) -> LLMEndpoint | None:
        """The endpoint if a call may be made now. While it backs off: None, but for one probe at a time."""
        endpoint, _ = self.get_or_create(fingerprint=fingerprint)
        if endpoint.retry_at is None:
            return endpoint
        probe = self.filter(pk=endpoint.pk, retry_at=endpoint.retry_at, retry_at__lte=now)
        return endpoint if probe.update(retry_at=now + backoff(endpoint.failures)) else None


class LLMEndpoint(models.Model):
    """A circuit breaker shared by all workers. Changed settings are a new endpoint, tried at once."""

    fingerprint = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)
    up_since = models.DateTimeField(null=True, blank=True, help_text="Since when it has answered; empty: it does not.")

    objects: ClassVar[LLMEndpointQuerySet] = LLMEndpointQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.fingerprint[:8]

    def failed(self, error: str, now: datetime, retry_after: float | None = None) -> None:
        """Back off as a whole; the provider's own wish wins if it is longer."""
        self.refresh_from_db()  # others may have failed while this call was on its way
        self.failures += 1
        pause = max(backoff(self.failures), timedelta(seconds=min(retry_after or 0, 86_400)))
        self.retry_at, self.last_error = now + pause, error[:500]
        self.failing_since, self.up_since = self.failing_since or now, None
        self.save()

    def answered_unusably(self, now: datetime) -> None:
        """Note a useless answer. Nobody else waits for it, but chats that fail from now on may be pardoned."""
        LLMEndpoint.objects.filter(pk=self.pk, failing_since=None).update(failing_since=now)

    def recovered(self, now: datetime) -> tuple[datetime | None, bool]:
        """Note a good answer; since when it had been failing (None: it was well), and whether it was an outage."""
        since, outage = self.failing_since, self.failures > 0
        if since or self.retry_at or not self.up_since:
            self.failures, self.retry_at, self.failing_since, self.last_error = 0, None, None, ""
            self.up_since = self.up_since or now
            self.save()
        return since, outage


class Cost(Protocol):
    """What an answer of a model cost. Completions of an ``llm`` backend satisfy it."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens read."""

    @property
    def completion_tokens(self) -> int:
        """Tokens written."""


class LLMCallQuerySet(models.QuerySet["LLMCall"]):
    """Sets of calls."""

    def of_memory(self, banks: Iterable[Bank], since: datetime) -> Decimal:
        """What memory of these banks has cost since then; answers to people, and shortening chats, are not memory's."""
        calls = self.filter(bank__in=banks, at__gte=since).exclude(purpose__in=OF_CHATS)
        return calls.aggregate(cost=models.Sum("cost"))["cost"] or Decimal()

    def enter(self, calls: list[LLMCall], bank: Bank) -> None:
        """Write them down, unless the bank has been deleted meanwhile."""
        with transaction.atomic():
            if calls and Bank.objects.select_for_update().filter(pk=bank.pk).exists():
                self.bulk_create(calls)


class LLMCall(models.Model):
    """The cost ledger. Never a word of a prompt or an answer."""

    class Purpose(models.TextChoices):
        SUMMARY = "summary"
        CHUNK = "chunk"
        MERGE = "merge"
        DIGEST = "digest"
        CHAT = "chat"
        COMPACT = "compact"
        EMBEDDING = "embedding"

    class Outcome(models.TextChoices):
        OK = "ok", "OK"
        UNAVAILABLE = "unavailable"
        MISCONFIGURED = "misconfigured"
        REJECTED = "rejected"
        UNUSABLE = "unusable"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="llm_calls")
    purpose = models.CharField(max_length=10, choices=Purpose)
    model = models.CharField(max_length=200)
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=15, choices=Outcome)
    error = models.CharField(max_length=500, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    at = models.DateTimeField()

    objects: ClassVar[LLMCallQuerySet] = LLMCallQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name = "LLM call"
        constraints = [
            models.CheckConstraint(name="llm_call_error_explained", condition=Q(outcome="ok") | ~Q(error="")),
        ]
        indexes = [
            # Read by the admin and the reports: what a bank spent lately.
            models.Index(name="llm_call_by_bank", fields=["bank", "at"]),
            # Read by vitals and the board: what all banks spent today, or in some days.
            models.Index(name="llm_call_by_time", fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} call {public_id(self.pk)}"

    def charge(self, answer: Cost) -> None:
        """Note what an answer took."""
        self.prompt_tokens, self.completion_tokens = answer.prompt_tokens, answer.completion_tokens

    def price(self) -> None:
        """Note what it cost, at the prices of now: a later change leaves what is in the ledger as it was."""
        own = {self.Purpose.EMBEDDING: "embedding", **dict.fromkeys(OF_CHATS, "chat")}
        prompt, completion = conf.current().prices.get(own.get(self.Purpose(self.purpose), "summary"), (0, 0))
        millionths = self.prompt_tokens * Decimal(str(prompt)) + self.completion_tokens * Decimal(str(completion))
        self.cost = (millionths / 1_000_000).quantize(Decimal("0.000001"))


#: What the model of chats is asked, at its prices; the rest is memory's.
OF_CHATS = (LLMCall.Purpose.CHAT, LLMCall.Purpose.COMPACT)


@contextmanager
def ledgered(
    bank_id: int, purpose: LLMCall.Purpose, model: str, at: datetime, *, keep: Callable[[LLMCall], object]
) -> Iterator[LLMCall]:
    """The ledger's row for the call that is made within: how long it took and how it ended.

    The caller ``charge``s it. ``keep`` gets the row, unsaved, after an answer and after an :class:`LLMError`, which is
    raised again; whatever else is raised is no call.
    """
    call, started = LLMCall(bank_id=bank_id, purpose=purpose, model=model[:200], at=at), monotonic()
    try:
        yield call
        call.outcome = LLMCall.Outcome.OK
    except LLMError as error:
        call.outcome, call.error = LLMCall.Outcome(error.outcome), (str(error) or type(error).__name__)[:500]
        raise
    finally:
        if call.outcome:
            call.duration_ms = round((monotonic() - started) * 1000)
            call.price()
            keep(call)
