"""What one message of a chat is given: the stored block without the chat's own lines, and notes beside the message.

The chat path: two indexed reads and the laying out of some lines, whatever the bank holds. Nothing is rendered.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import FilteredRelation, Q

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.packing.memory_line import PackedBlock, Text
from memorybank.models import Bank, StoredBlock
from memorybank.reading import rendering
from memorybank.reading.rendering import NOTHING


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The block for the system prompt, and the notes that stand beside the newest message and nowhere else.

    ``version`` names the stored block (0: there is none), ``made_at`` says when it was rendered; ``is_current`` unless
    memory has changed since. ``is_on`` if the bank is switched on, ``is_kept`` if the chat keeps this block already.
    """

    block: Text = NOTHING
    recalled: Text = NOTHING
    version: int = 0
    made_at: datetime | None = None
    is_current: bool = True
    is_on: bool = False
    is_kept: bool = False


class Given(NamedTuple):
    """What is known of a bank and a chat before a prompt is made; of a chat that has no turns yet, nothing."""

    enabled: bool
    version: int
    max_tokens: int
    recall_tokens: int
    kept: int | None
    last_output_at: datetime | None


@at_present
def prompt_memory(bank: Bank, *, chat_key: str = "", question: str = "", now: datetime = PRESENT) -> PromptMemory:
    """What a chat's next message is given: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, whatever the bank holds, and is the same whatever is asked. While a chat is warm
    it gets the version it had, unless something was withdrawn meanwhile: say ``keep_prompt`` of a prompt that is sent.
    """
    given = _given(bank.pk, chat_key)
    stored = _stored(bank.pk, given, now) if given.enabled else None
    shown = stored.shown_to(chat_key, given.max_tokens) if stored else PackedBlock()
    recalled = NOTHING
    if given.enabled:
        recalled = rendering.notes(bank, question, shown, given.recall_tokens, exclude_chat=chat_key, now=now)
    if not stored:
        return PromptMemory(shown, recalled, is_current=not given.enabled, is_on=given.enabled)
    current, kept = stored.version >= given.version, given.kept == stored.pk
    return PromptMemory(shown, recalled, stored.version, stored.made_at, current, is_on=True, is_kept=kept)


def _given(bank_id: int, chat_key: str) -> Given:
    """The bank and the chat, in one query."""
    own = FilteredRelation("chats", condition=Q(chats__key=chat_key))
    columns = ("enabled", "version", "max_tokens", "recall_tokens", "own__kept_block", "own__last_output_at")
    row: tuple[Any, ...] = Bank.objects.annotate(own=own).values_list(*columns).get(pk=bank_id)
    return Given(*row)


def _stored(bank_id: int, given: Given, now: datetime) -> StoredBlock | None:
    """The block the chat keeps while it is warm; else the current one."""
    warm = timedelta(minutes=conf.current().block_keep_minutes)
    if given.kept and given.last_output_at and given.last_output_at > now - warm:
        kept = StoredBlock.objects.filter(pk=given.kept, bank=bank_id).first()
        if kept:  # else it was withdrawn since the chat was read
            return kept
    return StoredBlock.objects.current(bank_id)
