"""What one message of a chat is given: the stored block without the chat's own lines, and notes beside the message.

The chat path: two indexed reads and the laying out of some lines, whatever the bank holds. Nothing is rendered.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import FilteredRelation, Q

from memorybank import conf
from memorybank.core.packing.memory_line import PackedBlock, Text
from memorybank.models import Bank, Chat, PromptCount, StoredBlock
from memorybank.reading import rendering
from memorybank.reading.rendering import NOTHING


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The block for the system prompt, and the notes that stand beside the newest message and nowhere else.

    ``version`` names the stored block (0: there is none), ``made_at`` says when it was rendered; ``is_current`` unless
    memory has changed since.
    """

    block: Text = NOTHING
    recalled: Text = NOTHING
    version: int = 0
    made_at: datetime | None = None
    is_current: bool = True


class Given(NamedTuple):
    """What is known of a bank and a chat before a prompt is made. ``chat`` is None for one that has no turns yet."""

    enabled: bool
    version: int
    max_tokens: int
    recall_tokens: int
    chat: int | None
    kept: int | None
    last_output_at: datetime | None


def prompt_memory(
    bank: Bank, *, chat_key: str = "", question: str = "", now: datetime, keep: bool = False
) -> PromptMemory:
    """What a chat's next message is given. The block is the same whatever is asked.

    While a chat is warm it gets the version it had, unless something was withdrawn meanwhile. With ``keep``
    (a prompt is made, not looked at) the chat remembers which.
    """
    given = _given(bank.pk, chat_key)
    stored = _stored(bank.pk, given, now) if given.enabled else None
    shown = stored.shown_to(chat_key, given.max_tokens) if stored else PackedBlock()
    recalled = NOTHING
    if given.enabled:
        recalled = rendering.notes(bank, question, shown, given.recall_tokens, exclude_chat=chat_key, now=now)
    memory = PromptMemory(shown, recalled, is_current=not given.enabled)
    if stored:
        current = stored.version >= given.version
        memory = PromptMemory(memory.block, recalled, stored.version, stored.made_at, current)
    if keep:
        _remember(bank.pk, given, memory, stored, now)
    return memory


def keep_prompt(bank: Bank, chat_key: str, memory: PromptMemory, now: datetime) -> None:
    """A prompt was made with ``memory``: counted, and the chat has the same block again while it is warm."""
    stored = StoredBlock.objects.filter(bank=bank, version=memory.version).first() if memory.version else None
    _remember(bank.pk, _given(bank.pk, chat_key), memory, stored, now)


def _remember(bank_id: int, given: Given, memory: PromptMemory, stored: StoredBlock | None, now: datetime) -> None:
    PromptCount.objects.note(bank_id, _what(given, memory), now)
    if stored and given.chat and given.kept != stored.pk:
        _keep(given.chat, stored)


def _what(given: Given, memory: PromptMemory) -> PromptCount.Memory:
    """How a prompt that is made with this is counted."""
    if memory.block.text or memory.recalled.text:
        return PromptCount.Memory.GIVEN
    return PromptCount.Memory.NOTHING if given.enabled else PromptCount.Memory.OFF


def _given(bank_id: int, chat_key: str) -> Given:
    """The bank and the chat, in one query."""
    own = FilteredRelation("chats", condition=Q(chats__key=chat_key))
    columns = ("enabled", "version", "max_tokens", "recall_tokens", "own__pk", "own__kept_block", "own__last_output_at")
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


def _keep(chat_id: int, stored: StoredBlock) -> None:
    """Remember what the chat was given, if it is still there."""
    Chat.objects.filter(pk=chat_id).update(kept_block=StoredBlock.objects.filter(pk=stored.pk).values("pk"))
