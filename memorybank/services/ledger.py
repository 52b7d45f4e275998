"""Record model calls made outside memory in their bank's ledger."""

from contextlib import AbstractContextManager
from datetime import datetime

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, LLMCall, ledgered


@at_present
def ledgered_call(
    bank: Bank, *, purpose: LLMCall.Purpose, model: str, now: datetime = PRESENT
) -> AbstractContextManager[LLMCall]:
    """The ledger's row for a call made within; the caller ``charge``s it; it is stored however the call ends."""
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
) -> None:
    """Record a finished call in the ledger. ``failed`` is a value of ``LLMCall.Outcome``, or ""."""
    call = LLMCall(bank_id=bank.pk, purpose=purpose, model=model[:200], at=asked_at)
    call.prompt_tokens, call.completion_tokens = prompt_tokens, completion_tokens
    call.outcome = failed or LLMCall.Outcome.OK
    call.error = (error or failed)[:500] if failed else ""
    call.duration_ms = max(0, round((ended_at - asked_at).total_seconds() * 1000))
    call.price()
    LLMCall.objects.record([call], bank)
