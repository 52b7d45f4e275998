"""Cache what one person may read of a bank's index: read and analysed once, and valid while memory stays the same.

A cache belongs to one process and one person. It is valid while the bank's :class:`MemoryState` is the one it was read
at: every transaction that changes what recall may find changes that state, too. ``index_cache_megabytes`` limits all
caches of a process.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from django.db import connection

from memorybank import conf
from memorybank.language import tokens
from memorybank.models import NOBODY, Bank, Chat, Entry, Fact, SearchDocument
from memorybank.reading.recall import index
from memorybank.reading.recall.index_terms import FILLER_WORDS, content_words
from memorybank.reading.recall.ranking import IndexedTurn
from memorybank.reading.recall.visibility import VisibleSentence, visible_lines

Result = TypeVar("Result")
#: How the value of a sentence depends on its prior and its length. Chosen on dialogues and on meetings.
PRIOR_POWER, LENGTH_POWER = 0.35, 0.8
#: Maximum of turns that are read for the passages of one question, the newest of its chats.
MAX_PASSAGE_TURNS = 20_000
#: Approximate memory of each cached id, word, row and empty cache, in bytes, without text.
ID_BYTES, WORD_BYTES, ROW_BYTES, EMPTY_BYTES = 40, 100, 400, 20_000


def max_bytes() -> float:
    """The limit of all caches of this process, in bytes."""
    return conf.current().index_cache_megabytes * 1_000_000


class MemoryState(NamedTuple):
    """The state of a bank's memory. While it is equal, the index and the facts are the same, for each person."""

    version: int
    epoch: int
    index_version: int


class TurnRow(NamedTuple):
    """A turn as the ranking needs it: how often it has each index word, its length and its place in its chat."""

    pk: int
    chat: int
    counts: dict[str, int]
    length: int
    previous: int | None


class ReadSentence(NamedTuple):
    """A sentence that may be shown, with its content words, how many of them are not filler words, and its tokens."""

    line: VisibleSentence
    words: frozenset[str]
    telling: int
    tokens: int
    #: Its value by its prior, and the divisor for its length.
    worth: float
    length: float


class ReadTurn(NamedTuple):
    """A turn that this person may read, with the sentences that may be shown now."""

    pk: int
    chat: int
    chat_key: str
    private: bool
    said_at: datetime
    sentences: list[ReadSentence]
    #: The places of those that are notes.
    notes: tuple[int, ...] = ()

    @property
    def lines(self) -> list[VisibleSentence]:
        """The sentences alone."""
        return [sentence.line for sentence in self.sentences]


class IndexCache:
    """A cache of what ``viewer`` may read of the index of ``bank``, filled as questions need it."""

    def __init__(self, bank: Bank, viewer: str = NOBODY) -> None:
        self.bank, self.viewer, self.bytes = bank, viewer, EMPTY_BYTES
        self._postings: dict[tuple[str, int | None], list[int]] = {}
        self._total: int | None = None
        self._rows: dict[int, TurnRow] = {}
        self._following: dict[int, list[int]] = {}
        self._chats: dict[int, list[tuple[int, int]]] = {}
        self._turns: dict[int, ReadTurn | None] = {}
        self._kept: dict[Hashable, Any] = {}

    def find_chat(self, key: str) -> int | None:
        """The id of a chat; None if there is none. Not kept, because it may be opened at any time."""
        return Chat.objects.filter(bank=self.bank, key=key).values_list("pk", flat=True).first() if key else None

    def keep(self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """The result of ``make``, cached under ``key`` unless it is too large; ``size`` estimates its bytes."""
        if key in self._kept:
            kept: Result = self._kept[key]
            return kept
        made = make()
        if size(made) < max_bytes() / 4:
            self._kept[key] = made
            self.bytes += size(made)
        return made

    def postings(self, words: Sequence[str], without_chat: int | None = None) -> tuple[list[list[int]], int]:
        """For each index word, the turns that have it outside this chat; and the number of all readable turns."""
        new = [word for word in dict.fromkeys(words) if (word, without_chat) not in self._postings]
        if new or self._total is None:
            found, hidden = index.postings(self.bank.pk, new, viewer=self.viewer, without_chat=without_chat)
            self._postings.update(((word, without_chat), turns) for word, turns in zip(new, found, strict=True))
            self.bytes += sum(WORD_BYTES + ID_BYTES * len(turns) for turns in found)
            if self._total is None:
                self._total = SearchDocument.objects.filter(bank=self.bank).count() - hidden
        return [self._postings[word, without_chat] for word in words], self._total

    def indexed_turns(self, ids: Collection[int], words: Sequence[str]) -> list[IndexedTurn]:
        """These turns with their neighbours, and how often each has these index words. Three queries for new ones."""
        if new := [pk for pk in ids if pk not in self._following]:
            self._read_rows(new)
        near = {pk for pk in ids if pk in self._rows}.union(*(self._following[pk] for pk in ids))
        near |= {before for pk in near if (before := self._rows[pk].previous) in self._rows}
        rows = [self._rows[pk] for pk in sorted(near)]
        following = {row.previous: row.pk for row in rows if row.previous}
        return [
            IndexedTurn(pk, tuple([counts.get(word, 0) for word in words]), length, previous, following.get(pk))
            for pk, _, counts, length, previous in rows
        ]

    def _read_rows(self, ids: list[int]) -> None:
        documents = SearchDocument.objects.of(self.bank).values_list("pk", "chat", "words", "length", "previous")
        after = list(documents.filter(previous__in=ids))  # an "or" would use no index
        rows = [*documents.filter(pk__in=ids), *after]
        before = {row[4] for row in rows if row[4]} - {row[0] for row in rows} - self._rows.keys()
        rows += documents.filter(pk__in=before) if before else ()
        for pk, chat, words, length, previous in rows:
            if pk not in self._rows:
                self._rows[pk] = TurnRow(pk, chat, Counter(words.split(" ")), length, previous)
                self.bytes += ROW_BYTES + WORD_BYTES * len(self._rows[pk].counts)
        following = defaultdict(list)
        for row in after:
            following[row[4]].append(row[0])
        self._following.update((pk, following[pk]) for pk in ids)

    def chat_turns(self, turns: Iterable[int]) -> list[list[int]]:
        """The chats of these indexed turns, each as its turns in order; the chat with the newest turn comes first.

        At most ``MAX_PASSAGE_TURNS`` turns, the newest. One query for chats that are not cached.
        """
        chats = {self._rows[pk].chat for pk in turns}
        if new := chats - self._chats.keys():
            found = self._read_chats(new)
            if sum(map(len, found.values())) == MAX_PASSAGE_TURNS:  # then some turns are missing
                return _newest_first(self._read_chats(chats).values())
            self._chats.update(found)
            self.bytes += sum(2 * ID_BYTES * len(own) for own in found.values())
        known = [self._chats[chat] for chat in chats if chat in self._chats]
        if sum(map(len, known)) > MAX_PASSAGE_TURNS:
            return _newest_first(self._read_chats(chats).values())
        return _newest_first(known)

    def _read_chats(self, chats: set[int]) -> dict[int, list[tuple[int, int]]]:
        """Each chat's turns as sequence and id, newest first, so that the limit cuts the beginning of a long chat."""
        documents = SearchDocument.objects.of(self.bank).filter(chat__in=chats).order_by("-sequence")
        found = defaultdict(list)
        for chat, *turn in documents.values_list("chat", "sequence", "pk")[:MAX_PASSAGE_TURNS]:
            found[chat].append((turn[0], turn[1]))
        return found

    def read(self, ids: Iterable[int]) -> Iterator[ReadTurn]:
        """The turns among ``ids`` that ``viewer`` may read, with their sentences. Three queries for uncached turns."""
        ids = list(ids)
        if new := [pk for pk in ids if pk not in self._turns]:
            found = self._read_turns(new)
            self._turns.update((pk, found.get(pk)) for pk in new)
        yield from (turn for pk in ids if (turn := self._turns[pk]))

    def _read_turns(self, ids: list[int]) -> dict[int, ReadTurn]:
        documents = SearchDocument.objects.of(self.bank).visible_to(self.viewer).filter(pk__in=ids)
        rows = {
            row[0]: row for row in documents.values_list("pk", "chat", "chat__key", "chat__private", "said_at", "lines")
        }
        if not rows:
            return {}
        leaves = Entry.objects.leaves().filter(chat__in={row[1] for row in rows.values()})
        states = Fact.objects.filter(entry__in=leaves).states(changed=True, viewer=self.viewer)
        encoding, turns = conf.current().encoding, {}
        for pk, lines in visible_lines({pk: row[5] for pk, row in rows.items()}, states).items():
            notes = tuple(line.place for line in lines if line.is_note)
            turns[pk] = ReadTurn(*rows[pk][:5], [_read_sentence(line, encoding) for line in lines], notes)
            self.bytes += ROW_BYTES + sum(ROW_BYTES + WORD_BYTES * len(one.words) for one in turns[pk].sentences)
        return turns


def _newest_first(chats: Iterable[list[tuple[int, int]]]) -> list[list[int]]:
    return [[pk for _, pk in reversed(turns)] for turns in sorted(chats, reverse=True)]


def _read_sentence(line: VisibleSentence, encoding: str) -> ReadSentence:
    words, size = frozenset(content_words(line.text)), tokens.count(line.text, encoding)
    worth, length = (line.worth + 0.02) ** PRIOR_POWER, (size + 1) ** LENGTH_POWER
    return ReadSentence(line, words, len(words - FILLER_WORDS), size, worth, length)


class _Kept:
    """The caches of this process, least recently used first."""

    def __init__(self) -> None:
        self._caches: OrderedDict[Hashable, tuple[MemoryState, IndexCache]] = OrderedDict()
        self._lock = Lock()

    def find(self, bank: Bank, viewer: str, state: MemoryState) -> IndexCache:
        """The cache of a bank and a person at ``state``, which the caller has just read."""
        if connection.in_atomic_block:  # the transaction may be rolled back, so nothing read in it may be kept
            return IndexCache(bank, viewer)
        # Cached values depend on the encoding as well.
        name, encoding = connection.settings_dict["NAME"], conf.current().encoding
        key = (str(name), connection.settings_dict["HOST"], bank.pk, viewer, encoding)
        with self._lock:
            known = self._caches.get(key)
            if known is None or known[0] != state:
                known = self._caches[key] = state, IndexCache(bank, viewer)
            self._caches.move_to_end(key)
            self._shrink(max_bytes())
        return known[1]

    def _shrink(self, limit: float) -> None:
        used = sum(cache.bytes for _, cache in self._caches.values())
        while self._caches and used > limit:
            used -= self._caches.popitem(last=False)[1][1].bytes

    def clear(self) -> None:
        """Drop all caches."""
        self._caches.clear()


kept = _Kept()
