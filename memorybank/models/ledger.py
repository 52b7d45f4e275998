"""The ledger of model calls, people's ratings of answers, and the circuit breaker of each model endpoint."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from time import monotonic
from typing import ClassVar, Protocol

from django.db import models, transaction

from memorybank import conf
from memorybank.exceptions import LLMError
from memorybank.llm import tracing
from memorybank.prepared import PreparedQuery, insert_while

from .audience import ByAudience
from .bank import Bank
from .chat import Output
from .public_id import public_id


def backoff(failures: int, draw: Callable[[], float] = random.random) -> timedelta:
    """Exponential backoff with AWS's "equal jitter": half of the pause is fixed, half is random (``draw``: 0 to 1)."""
    settings = conf.current()
    ceiling = min(settings.backoff_max_seconds, settings.backoff_seconds * 2 ** min(max(failures, 1) - 1, 20))
    return timedelta(seconds=ceiling / 2 + ceiling / 2 * draw())


#: An endpoint by its fingerprint: asked for each chat.
ENDPOINT = PreparedQuery(lambda fingerprint: LLMEndpoint.objects.filter(fingerprint=fingerprint))


class LLMEndpointQuerySet(models.QuerySet["LLMEndpoint"]):
    def admit(self, fingerprint: str, now: datetime) -> LLMEndpoint | None:
        """The endpoint if a call may be made now; None while it backs off, except for one probe after each pause."""
        endpoint = ENDPOINT.first(fingerprint) or self.get_or_create(fingerprint=fingerprint)[0]
        if endpoint.retry_at is None:
            return endpoint
        probe = self.filter(pk=endpoint.pk, retry_at=endpoint.retry_at, retry_at__lte=now)
        return endpoint if probe.update(retry_at=now + backoff(endpoint.failures)) else None


class LLMEndpoint(models.Model):
    """A circuit breaker shared by all workers. Changed model settings create a new endpoint, which is tried at once."""

    fingerprint = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)
    up_since = models.DateTimeField(null=True, blank=True, help_text="Since when it answers; empty: it does not.")

    objects: ClassVar[LLMEndpointQuerySet] = LLMEndpointQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.fingerprint[:8]

    def failed(self, error: str, now: datetime, retry_after: float | None = None) -> None:
        """Record a failure and back off, at least for ``retry_after`` seconds (limited to one day)."""
        self.refresh_from_db()  # other calls may have failed meanwhile
        self.failures += 1
        pause = max(backoff(self.failures), timedelta(seconds=min(retry_after or 0, 86_400)))
        self.retry_at, self.last_error = now + pause, error[:500]
        self.failing_since, self.up_since = self.failing_since or now, None
        self.save()

    def answered_unusably(self, now: datetime) -> None:
        """Record an unusable answer without backing off, so that chats that fail from now on can be revived later."""
        LLMEndpoint.objects.filter(pk=self.pk, failing_since=None).update(failing_since=now)

    def recovered(self, now: datetime) -> tuple[datetime | None, bool]:
        """Record a usable answer; return since when the endpoint was failing (or None) and whether it was an outage."""
        since, outage = self.failing_since, self.failures > 0
        if since or self.retry_at or not self.up_since:
            self.failures, self.retry_at, self.failing_since, self.last_error = 0, None, None, ""
            self.up_since = self.up_since or now
            self.save()
        return since, outage


class Cost(Protocol):
    """Token counts of a model's answer, such as a completion of an ``llm`` backend."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens read."""

    @property
    def completion_tokens(self) -> int:
        """Tokens written."""


class LLMCallQuerySet(models.QuerySet["LLMCall"]):
    def of_memory(self, since: datetime) -> LLMCallQuerySet:
        """The calls for memory since ``since``, without chat answers, compactions and titles."""
        return self.filter(at__gte=since).exclude(purpose__in=OF_CHATS)

    def record(self, calls: list[LLMCall], bank: Bank) -> None:
        """Save the calls, unless the bank was deleted."""
        with transaction.atomic(savepoint=False):
            if calls:
                Bank.objects.lock(bank.pk)
                insert_while(bank, calls)


class LLMCall(models.Model):
    """A model call in the ledger. It never contains text of a prompt or an answer.

    Errors are stored without the request's text and with secrets masked. Any erasure in the bank clears them.
    """

    class Purpose(models.TextChoices):
        SUMMARY = "summary"
        CHUNK = "chunk"
        MERGE = "merge"
        DIGEST = "digest"
        CHAT = "chat"
        COMPACT = "compact"
        TITLE = "title"
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
        indexes = [
            # Read by the admin and the reports: recent costs of a bank.
            models.Index(name="llm_call_by_bank", fields=["bank", "at"]),
            # Read by the health metrics and the dashboard: recent costs of all banks.
            models.Index(name="llm_call_by_time", fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} call {public_id(self.pk)}"

    def charge(self, answer: Cost) -> None:
        """Set the token counts from the answer."""
        self.prompt_tokens, self.completion_tokens = answer.prompt_tokens, answer.completion_tokens

    def price(self) -> None:
        """Set the cost at the current prices. Later changes of prices do not change the ledger."""
        own = {self.Purpose.EMBEDDING: "embedding", **dict.fromkeys(OF_CHATS, "chat")}
        prompt, completion = conf.current().prices.get(own.get(self.Purpose(self.purpose), "summary"), (0, 0))
        millionths = self.prompt_tokens * Decimal(str(prompt)) + self.completion_tokens * Decimal(str(completion))
        self.cost = (millionths / 1_000_000).quantize(Decimal("0.000001"))


#: Calls that cost the price of the chat model. All other calls are costs of memory.
OF_CHATS = (LLMCall.Purpose.CHAT, LLMCall.Purpose.COMPACT, LLMCall.Purpose.TITLE)


class AnswerRatingQuerySet(ByAudience["AnswerRating"]):
    to_chat = "output__chat"


class AnswerRating(models.Model):
    """Whether an answer helped a person. One row for each person and answer; the latest rating counts."""

    # No separate index: the constraint's index starts with this column.
    output = models.ForeignKey(Output, models.CASCADE, related_name="ratings", db_index=False)
    person = models.CharField(max_length=200, help_text="The person's name, as in the author of a message.")
    helpful = models.BooleanField()
    model = models.CharField(max_length=200, blank=True, help_text="The model that answered; empty: not known.")
    at = models.DateTimeField()

    objects: ClassVar[AnswerRatingQuerySet] = AnswerRatingQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # A person would count twice in the share of helpful answers.
            models.UniqueConstraint(name="answer_rating_once", fields=["output", "person"]),
        ]

    def __str__(self) -> str:
        return f"rating of output {public_id(self.output_id)}"


@contextmanager
def ledgered(
    bank_id: int, purpose: LLMCall.Purpose, model: str, at: datetime, *, keep: Callable[[LLMCall], object]
) -> Iterator[LLMCall]:
    """Measure the model call in this ``with`` block and record its outcome. The caller sets its tokens by ``charge``.

    ``keep`` gets the unsaved row after an answer or an :class:`LLMError`, which is raised again. After any other
    exception nothing is recorded.
    """
    call, started = LLMCall(bank_id=bank_id, purpose=purpose, model=model[:200], at=at), monotonic()
    try:
        with tracing.span(f"{purpose.value} {model[:200]}", tracing.SpanKind.CLIENT, bank=bank_id) as span:
            yield call
            span.set_attribute("gen_ai.usage.input_tokens", call.prompt_tokens)
            span.set_attribute("gen_ai.usage.output_tokens", call.completion_tokens)
        call.outcome = LLMCall.Outcome.OK
    except LLMError as error:
        call.outcome, call.error = LLMCall.Outcome(error.outcome), (str(error) or type(error).__name__)[:500]
        raise
    finally:
        if call.outcome:
            call.duration_ms = round((monotonic() - started) * 1000)
            call.price()
            keep(call)
