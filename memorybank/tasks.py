"""Celery's side: an id in, one call, a policy. The database says what is due; a lost message costs a minute."""

from celery import shared_task
from django.utils import timezone

from . import recall, summarising, sweeping
from .exceptions import LLMError

# No retries here: a failure backs off in the database, and the next sweep after that sends it again.
# expires: what no worker took before the next sweep is dropped, because that sweep sends it anew.
SECONDS = 60


@shared_task
def sweep() -> None:
    """Hand out what is due. Harmless when run twice at once: leases decide who does the work."""
    now = timezone.now()
    if recall.due() or recall.embedding_is_due():
        index.apply_async((), expires=SECONDS)
    for chat_id in sweeping.due_chats(now):
        summarise_chat.apply_async((chat_id,), expires=SECONDS)
    for bank_id in sweeping.due_banks(now):
        settle_bank.apply_async((bank_id,), expires=SECONDS)


@shared_task(throws=(LLMError,))
def summarise_chat(chat_id: int) -> None:
    """Summarise one chat, then bring its bank up to date."""
    entry = summarising.summarise_chat(chat_id, now=timezone.now())
    if entry:
        settle_bank.apply_async((entry.bank_id,), expires=SECONDS)


@shared_task(throws=(LLMError,))
def settle_bank(bank_id: int) -> None:
    """Roll up one bank and store its block."""
    sweeping.settle(bank_id, now=timezone.now())


@shared_task
def index() -> None:
    """Index the turns that wait, and embed them if there is a model. Run twice at once, one of the two does it."""
    sweeping.index(now=timezone.now())
