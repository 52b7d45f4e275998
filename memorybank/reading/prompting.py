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
from memorybank.language.terms import terms
from memorybank.models import Bank, StoredBlock
from memorybank.reading import rendering
from memorybank.reading.personal import ANYBODY, Asker, render_personal
from memorybank.reading.rendering import EMPTY_TEXT
from memorybank.reading.stored_block import without


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """The block for the system prompt, what follows it for the asker only, and notes beside the newest message.

    ``version`` names the stored block (0: there is none), ``made_at`` says when it was rendered; ``is_current`` unless
    memory has changed since. ``is_on`` if the bank is switched on, ``is_kept`` if the chat keeps this block already.
    """

    block: Text = EMPTY_TEXT
    recalled: Text = EMPTY_TEXT
    personal: Text = EMPTY_TEXT
    version: int = 0
    made_at: datetime | None = None
    is_current: bool = True
    is_on: bool = False
    is_kept: bool = False

    @property
    def system(self) -> str:
        """What goes into the system prompt: the block, which is the same for everybody, then what is for the asker."""
        return "\n\n".join(filter(None, (self.block.text, self.personal.text)))

    def quoted(self, answer: str, *, question: str) -> set[str]:
        """The words of an answer that only what not everybody may read had, of all memory and the question."""
        lines = [*self.block.lines, *self.personal.lines, *self.recalled.lines]
        private = [line for line in lines if line.private]
        if not private:
            return set()
        public = [line for line in lines if not line.private]
        known = set(terms(question)).union(*(terms(f"{line.speaker} {line.text}") for line in public))
        secret = set[str]().union(*(terms(line.text) for line in private)) - known
        return secret.intersection(terms(answer))


class PromptState(NamedTuple):
    """What a prompt needs of the bank and the chat; a chat without turns has no block and no time."""

    enabled: bool
    version: int
    kept: int | None
    last_output_at: datetime | None
    max_tokens: int
    recall_tokens: int
    personal_tokens: int


@at_present
def prompt_memory(
    bank: Bank, *, chat_key: str = "", question: str = "", asker: Asker = ANYBODY, now: datetime = PRESENT
) -> PromptMemory:
    """The memory for a chat's next message: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, whatever the bank holds, and depends on neither question nor asker. While a chat
    is warm it keeps its version of it, unless that was invalidated: call ``keep_prompt`` for a prompt that is sent.
    """
    state = _prompt_state(bank.pk, chat_key)
    stored = _block_for_chat(bank.pk, state, now) if state.enabled else None
    shown = without(stored, state.max_tokens, own=chat_key) if stored else PackedBlock()
    recalled = personal = EMPTY_TEXT
    if state.enabled:
        personal = render_personal(bank, asker, state.personal_tokens, shown=shown, exclude_chat=chat_key)
        recalled = rendering.render_notes(
            bank, question, [shown, personal], state.recall_tokens, exclude_chat=chat_key, viewer=asker.person, now=now
        )
    if not stored:
        return PromptMemory(shown, recalled, personal, is_current=not state.enabled, is_on=state.enabled)
    current, kept = stored.version >= state.version, state.kept == stored.pk
    return PromptMemory(shown, recalled, personal, stored.version, stored.made_at, current, is_on=True, is_kept=kept)


def _prompt_state(bank_id: int, chat_key: str) -> PromptState:
    """Both in one query."""
    own = FilteredRelation("chats", condition=Q(chats__key=chat_key))
    budgets = ("max_tokens", "recall_tokens", "personal_tokens")
    columns = ("enabled", "version", "own__kept_block", "own__last_output_at", *budgets)
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
