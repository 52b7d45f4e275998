"""Record model calls made outside memory in their bank's ledger, and people's ratings of answers."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from memorybank.clock import PRESENT, at_present
from memorybank.models import AnswerRating, Bank, Chat, LLMCall, Output, ledgered


@at_present
def ledgered_call(
    bank: Bank, *, purpose: LLMCall.Purpose, model: str, now: datetime = PRESENT
) -> AbstractContextManager[LLMCall]:
    """Measure the model call in this ``with`` block, and save its row after an answer or an :class:`LLMError`.

    The caller sets the tokens by ``charge``. After any other exception nothing is recorded.
    """
    return ledgered(bank.pk, purpose, model, now, keep=LLMCall.save)


def record_call(
    bank: Bank,
    *,
    purpose: LLMCall.Purpose,
    model: str,
    prompt_tokens: int,
    completion_tokens: int,
    asked_at: datetime,
    ended_at: datetime,
    failed: str = "",
    error: str = "",
    may_exist: bool = False,
) -> None:
    """Record a finished call in the ledger. ``failed`` is a value of ``LLMCall.Outcome``, or "".

    With ``may_exist``, a call of the same model at the same microsecond and of the same length is not entered again.
    """
    call = LLMCall(bank_id=bank.pk, purpose=purpose, model=model[:200], at=asked_at)
    call.prompt_tokens, call.completion_tokens = prompt_tokens, completion_tokens
    call.outcome = failed or LLMCall.Outcome.OK
    call.error = (error or failed)[:500] if failed else ""
    call.duration_ms = max(0, round((ended_at - asked_at).total_seconds() * 1000))
    same = {name: getattr(call, name) for name in ("bank_id", "at", "purpose", "model", "duration_ms")}
    if may_exist and LLMCall.objects.filter(**same).exists():
        return
    call.price()
    LLMCall.objects.record([call], bank)


@at_present
def rate_answer(
    bank: Bank, *, output: int, person: str, helpful: bool | None, model: str = "", now: datetime = PRESENT
) -> None:
    """Store whether an answer helped ``person``, in place of their earlier rating; None takes it back.

    ``model`` is the model that answered. Does nothing if the turn was erased meanwhile or has no answer.
    """
    with transaction.atomic():
        Bank.objects.lock(bank.pk)  # an erasure waits
        answered = Output.objects.filter(pk=output, chat__bank=bank).exclude(answer="")
        if helpful is None or not answered.exists():
            AnswerRating.objects.filter(output=output, person=person, output__chat__bank=bank).delete()
            return
        values = {"helpful": helpful, "model": model[:200], "at": now}
        AnswerRating.objects.update_or_create(output_id=output, person=person[:200], defaults=values)


def ratings_by(person: str, outputs: Iterable[Output]) -> dict[int, bool]:
    """Whether these answers helped ``person``, by the id of the output, where they rated it."""
    rated = AnswerRating.objects.filter(person=person, output__in=[output.pk for output in outputs])
    return dict(rated.values_list("output", "helpful"))


def ratings_of(chat: Chat) -> QuerySet[AnswerRating]:
    """All ratings of a chat's answers."""
    return AnswerRating.objects.filter(output__chat=chat)


def count_ratings(output: Output) -> tuple[int, int]:
    """The number of people whom an answer helped, and of those whom it did not."""
    counts = output.ratings.aggregate(
        good=Count("pk", filter=Q(helpful=True)), bad=Count("pk", filter=Q(helpful=False))
    )
    return counts["good"], counts["bad"]
