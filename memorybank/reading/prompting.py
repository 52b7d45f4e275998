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
from memorybank.core.memory_line import PackedBlock, Text
from memorybank.core.packing.exclusion import exclude
from memorybank.language.terms import terms
from memorybank.models import NOBODY, Bank, StoredBlock
from memorybank.reading import recall, rendering
from memorybank.reading.personal import ANYBODY, Asker, render_personal
from memorybank.reading.rendering import EMPTY_TEXT

#: Notes that were given with a message: where each of their sentences stands.
GivenNotes = Sequence[recall.SentencePlace]
#: Written by hand, because each message waits for it: to build it with the ORM takes 1.3 ms, to ask it 0.03.
STATE_QUERY = """
    SELECT bank.enabled, bank.version, bank.epoch, bank.index_version,
        (SELECT id FROM memorybank_storedblock WHERE bank_id = bank.id ORDER BY version DESC LIMIT 1),
        bank.max_tokens, bank.recall_tokens, bank.personal_tokens,
        chat.id, chat.kept_block_id, chat.last_output_at, chat.indexed_through
    FROM memorybank_bank AS bank LEFT JOIN memorybank_chat AS chat ON chat.bank_id = bank.id AND chat.key = %s
    WHERE bank.id = %s
"""
#: About what a line of a block holds, in bytes.
LINE_BYTES = 2_000


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
    #: The notes beside earlier messages, as they were given.
    earlier: tuple[Text, ...] = ()

    @property
    def system(self) -> str:
        """What goes into the system prompt: the block, which is the same for everybody, then what is for the asker."""
        return "\n\n".join(filter(None, (self.block.text, self.personal.text)))

    def quoted(self, answer: str, *, question: str) -> set[str]:
        """The words of an answer that only what not everybody may read had, of all memory and the question."""
        earlier = [line for text in self.earlier for line in text.lines]
        lines = [*self.block.lines, *self.personal.lines, *self.recalled.lines, *earlier]
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
    given: Sequence[GivenNotes] = (),
    given_now: GivenNotes | None = None,
    now: datetime = PRESENT,
) -> PromptMemory:
    """The memory for a chat's next message: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, or one while memory stays the same, whatever the bank holds, and depends on
    neither question nor asker. While a chat is warm it keeps its version of it, unless that was invalidated: call
    ``keep_prompt`` for a prompt that is sent.

    ``given`` are the notes that were given beside earlier messages of the prompt, each by the places of its sentences:
    ``earlier`` gives them again, as far as they may be shown. If the message itself was asked before with the notes
    ``given_now``, it gets the same.
    """
    state = _prompt_state(bank.pk, chat_key)
    if not state.enabled:
        return PromptMemory(earlier=(EMPTY_TEXT,) * len(given))
    at = recall.MemoryState(state.version, state.epoch, state.index_version)
    stored = _read_block(bank, at, state.block(now))
    shown = stored.shown(state.max_tokens, own=chat_key) if stored else PackedBlock()
    personal = render_personal(bank, asker, state.personal_tokens, shown=shown, exclude_chat=chat_key)
    index = recall.kept.find(bank, asker.person, at)
    own = state.chat if state.indexed_through else None
    speakers = rendering.speakers_of([shown, personal])
    again = partial(rendering.render_given_notes, index, max_tokens=state.recall_tokens, speakers=speakers, without=own)
    earlier = tuple([again(places) for places in given])
    recalled = (
        rendering.render_notes(
            index,
            question,
            [shown, personal, *earlier],
            state.recall_tokens,
            speakers=speakers,
            without=own,
            now=now,
        )
        if given_now is None
        else again(given_now)
    )
    memory = PromptMemory(shown, recalled, personal, is_current=False, is_on=True, earlier=earlier)
    if not stored:
        return memory
    current, kept = stored.version >= state.version, state.kept == stored.pk
    return replace(memory, version=stored.version, made_at=stored.made_at, is_current=current, is_kept=kept)


def _prompt_state(bank_id: int, chat_key: str) -> PromptState:
    """All in one query. Raises ``Bank.DoesNotExist``."""
    with connection.cursor() as cursor:
        cursor.execute(STATE_QUERY, [chat_key, bank_id])
        row = cursor.fetchone()
    if row is None:
        raise Bank.DoesNotExist
    state = PromptState(*row)
    active_at = state.last_output_at
    # SQLite's have no time zone.
    return state._replace(last_output_at=make_aware(active_at, UTC)) if active_at and is_naive(active_at) else state


@dataclass(slots=True)
class _ReadBlock:
    """A stored block, and what it is without a chat's own lines."""

    pk: int
    version: int
    made_at: datetime | None
    packed: PackedBlock
    chats: frozenset[str]
    without: dict[tuple[int, str], PackedBlock] = field(default_factory=dict)

    def shown(self, budget: int, own: str) -> PackedBlock:
        """The block in at most ``budget`` tokens without the words of the chat ``own``."""
        key = budget, own if own in self.chats else ""
        if key not in self.without:
            self.without[key] = exclude(self.packed, budget, encoding=conf.current().encoding, own=key[1])
        return self.without[key]

    def bytes(self) -> int:
        """About what it holds, with what it will hold without some chats."""
        return LINE_BYTES * (1 + len(self.packed.lines) + len(self.packed.reserve) * (1 + len(self.chats) // 20))


def _read_block(bank: Bank, memory: recall.MemoryState, pk: int | None) -> _ReadBlock | None:
    """A block, or the current one if it was invalidated since its id was read."""
    if pk is None:
        return None

    def read() -> _ReadBlock | None:
        stored = StoredBlock.objects.filter(pk=pk, bank=bank).first() or StoredBlock.objects.current(bank.pk)
        if stored is None:
            return None
        packed = stored.packed
        chats = frozenset(chat for line in (*packed.lines, *packed.reserve) for chat in line.chats)
        return _ReadBlock(stored.pk, stored.version, stored.made_at, packed, chats)

    known = recall.kept.find(bank, NOBODY, memory)  # it is the same for everybody
    return known.keep(("block", pk), read, lambda block: block.bytes() if block else 0)
