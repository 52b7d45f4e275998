"""Build a chat prompt's memory: the stored block without the chat's own lines, and notes beside the message.

This is the chat path: two indexed reads and the layout of a few lines, whatever the bank holds. Nothing is rendered.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import connection
from django.utils.timezone import is_naive, make_aware

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.memory_line import EMPTY_TEXT, MemoryLine, PackedBlock
from memorybank.core.packing.exclusion import exclude
from memorybank.core.prompt_memory import PromptMemory
from memorybank.core.quotes import LineWords, line_words
from memorybank.models import NOBODY, Bank, StoredBlock
from memorybank.reading import rendering
from memorybank.reading.personal import ANYBODY, Asker, render_personal
from memorybank.reading.private_words import find_private_words
from memorybank.reading.recall import index_cache
from memorybank.reading.recall.notes import SentencePlace

#: Notes that were given with a message, as the places of their sentences.
NotePlaces = Sequence[SentencePlace]
#: Raw SQL, because every message waits for it: building the query with the ORM takes 1.3 ms, running it 0.03 ms.
STATE_QUERY = """
    SELECT bank.enabled, bank.version, bank.epoch, bank.index_version,
        (SELECT id FROM memorybank_storedblock WHERE bank_id = bank.id ORDER BY version DESC LIMIT 1),
        bank.max_tokens, bank.recall_tokens, bank.personal_tokens,
        chat.id, chat.kept_block_id, chat.last_output_at, chat.indexed_through
    FROM memorybank_bank AS bank LEFT JOIN memorybank_chat AS chat ON chat.bank_id = bank.id AND chat.key = %s
    WHERE bank.id = %s
"""
#: Approximate memory of a block's line, in bytes.
LINE_BYTES = 2_000
#: Approximate memory of a word of a line, in bytes.
WORD_BYTES = 100


class PromptState(NamedTuple):
    """The state of bank and chat that a prompt needs; a chat without turns has no block and no time."""

    enabled: bool
    version: int
    epoch: int
    index_version: int
    current: int | None
    max_tokens: int
    recall_tokens: int
    personal_tokens: int
    chat: int | None
    kept: int | None
    last_output_at: datetime | None
    indexed_through: int | None

    def block(self, now: datetime) -> int | None:
        """The block that the chat keeps while it is warm; else the current one."""
        warm = timedelta(minutes=conf.current().block_keep_minutes)
        is_warm = self.last_output_at and self.last_output_at > now - warm
        return self.kept if self.kept and is_warm else self.current


@at_present
def prompt_memory(
    bank: Bank,
    *,
    chat_key: str = "",
    question: str = "",
    asker: Asker = ANYBODY,
    given: Sequence[NotePlaces] = (),
    given_now: NotePlaces | None = None,
    other_text: str = "",
    now: datetime = PRESENT,
) -> PromptMemory:
    """The memory for a chat's next message: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, or one while memory stays the same, whatever the size of the bank. It depends on
    neither question nor asker. A warm chat keeps its version of the block until that is invalidated, so call
    ``record_sent_prompt`` for every prompt that is sent. Raises ``Bank.DoesNotExist``.

    ``given`` holds the notes that accompanied earlier messages of the prompt; ``earlier`` of the result renders them
    again, without sentences that may no longer be shown. ``given_now`` holds the notes of the newest message if it was
    asked before: it then gets the same notes and no new ones.

    ``other_text`` is what a program wrote or gives the model itself. It may have read it from memory with the asker's
    rights, so that words of their private chats in it count as given (see :meth:`PromptMemory.quoted`).
    """
    state = _prompt_state(bank.pk, chat_key)
    if not state.enabled:
        return PromptMemory(earlier=(EMPTY_TEXT,) * len(given))
    memory_state = index_cache.MemoryState(state.version, state.epoch, state.index_version)
    stored = _read_block(bank, memory_state, state.block(now))
    shown, words = stored.shown(state.max_tokens, own=chat_key) if stored else (PackedBlock(), LineWords())
    personal = render_personal(bank, asker, state.personal_tokens, shown=shown, exclude_chat=chat_key)
    index = index_cache.kept.find(bank, asker.person, memory_state)
    own = state.chat if state.indexed_through else None
    people = rendering.people_of(shown, personal)
    again = partial(rendering.render_given_notes, index, max_tokens=state.recall_tokens, people=people, without=own)
    earlier = tuple([again(places) for places in given])
    recalled = (
        rendering.render_notes(
            index,
            question,
            [shown, personal, *earlier],
            state.recall_tokens,
            people=people,
            without=own,
            now=now,
        )
        if given_now is None
        else again(given_now)
    )
    others = [line for text in (personal, recalled, *earlier) for line in text.lines]
    other_words = LineWords(others, partial(_line_words, index))
    read = find_private_words(index, other_text, chat=state.chat) if asker.person and other_text else {}
    memory = PromptMemory(
        shown,
        recalled,
        personal,
        is_current=False,
        is_on=True,
        earlier=earlier,
        block_words=words,
        other_words=other_words,
        read_words=read,
    )
    if not stored:
        return memory
    current, kept = stored.version >= state.version, state.kept == stored.pk
    return replace(memory, version=stored.version, made_at=stored.made_at, is_current=current, is_kept=kept)


def _line_words(index: index_cache.IndexCache, line: MemoryLine) -> frozenset[str]:
    """The words of a line beside the message, kept while memory stays the same: most messages get the same lines."""
    key = "words", line.speaker, line.text
    return index.keep(key, partial(line_words, line), lambda words: WORD_BYTES * (1 + len(words)))


def _prompt_state(bank_id: int, chat_key: str) -> PromptState:
    """Read the state in one query. Raises ``Bank.DoesNotExist``."""
    with connection.cursor() as cursor:
        cursor.execute(STATE_QUERY, [chat_key, bank_id])
        row = cursor.fetchone()
    if row is None:
        raise Bank.DoesNotExist
    state = PromptState(*row)
    active_at = state.last_output_at
    # SQLite returns times without a time zone.
    return state._replace(last_output_at=make_aware(active_at, UTC)) if active_at and is_naive(active_at) else state


@dataclass(slots=True)
class _ReadBlock:
    """A stored block, with a cache of the same block without one chat's own lines."""

    pk: int
    version: int
    made_at: datetime | None
    packed: PackedBlock
    chats: frozenset[str]
    without: dict[tuple[int, str], tuple[PackedBlock, LineWords]] = field(default_factory=dict)

    def shown(self, budget: int, own: str) -> tuple[PackedBlock, LineWords]:
        """The block in at most ``budget`` tokens without the words of the chat ``own``, and its words."""
        key = budget, own if own in self.chats else ""
        if key not in self.without:
            block = exclude(self.packed, budget, encoding=conf.current().encoding, own=key[1])
            self.without[key] = block, LineWords(block.lines)
        return self.without[key]

    def bytes(self) -> int:
        """Approximate memory in bytes, with room for the versions without one chat's lines."""
        return LINE_BYTES * (1 + len(self.packed.lines) + len(self.packed.reserve) * (1 + len(self.chats) // 20))


def _read_block(bank: Bank, memory: index_cache.MemoryState, pk: int | None) -> _ReadBlock | None:
    """The block ``pk``, or the current one if ``pk`` was invalidated since that id was read."""
    if pk is None:
        return None

    def read() -> _ReadBlock | None:
        stored = StoredBlock.objects.filter(pk=pk, bank=bank).first() or StoredBlock.objects.current(bank.pk)
        if stored is None:
            return None
        packed = stored.packed
        chats = frozenset(chat for line in (*packed.lines, *packed.reserve) for chat in line.chats)
        return _ReadBlock(stored.pk, stored.version, stored.made_at, packed, chats)

    known = index_cache.kept.find(bank, NOBODY, memory)  # it is the same for everybody
    return known.keep(("block", pk), read, lambda block: block.bytes() if block else 0)
