"""Build a chat prompt's memory: the stored block without the chat's own lines, and notes beside the message.

This is the chat path: two indexed reads and the layout of a few lines, whatever the bank holds. Nothing is rendered.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import FilteredRelation, Q

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.memory_line import PackedBlock, Text
from memorybank.models import Bank, StoredBlock
from memorybank.reading import rendering
from memorybank.reading.rendering import EMPTY_TEXT
from memorybank.reading.stored_block import without


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The block for the system prompt, and the notes that stand beside the newest message only.

    ``version`` names the stored block (0: there is none), ``made_at`` says when it was rendered; ``is_current`` unless
    memory has changed since. ``is_on`` if the bank is switched on, ``is_kept`` if the chat keeps this block already.
    """

    block: Text = EMPTY_TEXT
    recalled: Text = EMPTY_TEXT
    version: int = 0
    made_at: datetime | None = None
    is_current: bool = True
    is_on: bool = False
    is_kept: bool = False


class PromptState(NamedTuple):
    """What a prompt needs of the bank and the chat; a chat without turns has no block and no time."""

    enabled: bool
    version: int
    max_tokens: int
    recall_tokens: int
    kept: int | None
    last_output_at: datetime | None


@at_present
def prompt_memory(bank: Bank, *, chat_key: str = "", question: str = "", now: datetime = PRESENT) -> PromptMemory:
    """The memory for a chat's next message: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, whatever the bank holds, and does not depend on the question. While a chat is
    warm it keeps its version of the block, unless that was invalidated: call ``keep_prompt`` for a prompt that is sent.
    """
    state = _prompt_state(bank.pk, chat_key)
    stored = _block_for_chat(bank.pk, state, now) if state.enabled else None
    shown = without(stored, state.max_tokens, own=chat_key) if stored else PackedBlock()
    recalled = EMPTY_TEXT
    if state.enabled:
        recalled = rendering.render_notes(bank, question, shown, state.recall_tokens, exclude_chat=chat_key, now=now)
    if not stored:
        return PromptMemory(shown, recalled, is_current=not state.enabled, is_on=state.enabled)
    current, kept = stored.version >= state.version, state.kept == stored.pk
    return PromptMemory(shown, recalled, stored.version, stored.made_at, current, is_on=True, is_kept=kept)


def _prompt_state(bank_id: int, chat_key: str) -> PromptState:
    """Both in one query."""
    own = FilteredRelation("chats", condition=Q(chats__key=chat_key))
    columns = ("enabled", "version", "max_tokens", "recall_tokens", "own__kept_block", "own__last_output_at")
    row: tuple[Any, ...] = Bank.objects.annotate(own=own).values_list(*columns).get(pk=bank_id)
    return PromptState(*row)


def _block_for_chat(bank_id: int, state: PromptState, now: datetime) -> StoredBlock | None:
    """The block that the chat keeps while it is warm; else the current one."""
    warm = timedelta(minutes=conf.current().block_keep_minutes)
    if state.kept and state.last_output_at and state.last_output_at > now - warm:
        kept = StoredBlock.objects.filter(pk=state.kept, bank=bank_id).first()
        if kept:  # else it was invalidated since the chat was read
            return kept
    return StoredBlock.objects.current(bank_id)
