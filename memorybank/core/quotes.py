"""Find what an answer repeats from its memory: words of private lines, and words from certain chats only. Pure."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from memorybank.core.memory_line import MemoryLine
from memorybank.language.terms import distinct_terms, terms, terms_among


class Quotes(NamedTuple):
    """Words of an answer that only private lines have, and the keys of chats that are necessary sources of a word."""

    words: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()


#: The result for an answer that repeats nothing.
NO_QUOTES = Quotes()


def line_words(line: MemoryLine) -> frozenset[str]:
    """The stemmed words of a line and its speaker."""
    return distinct_terms(f"{line.speaker} {line.text}")


class LineWords:
    """The words of the lines that are not private, computed when first needed; ``words_of`` says those of a line."""

    def __init__(
        self, lines: Iterable[MemoryLine] = (), words_of: Callable[[MemoryLine], frozenset[str]] | None = None
    ) -> None:
        self._shown = [line for line in lines if not line.private]
        #: Not kept as a function: a process that stops writes the words to a file.
        self._known = [words_of(line) for line in self._shown] if words_of else []

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return self._known or [line_words(line) for line in self._shown]

    def chats(self, wanted: frozenset[str]) -> dict[str, frozenset[str]]:
        """For each ``wanted`` word of a line, the keys of the chats that are sources of every line with that word."""
        chats_by_word: dict[str, frozenset[str]] = {}
        for line, words in zip(self._shown, self._words, strict=True):
            if common := wanted & words:
                chats = frozenset(line.chats)
                chats_by_word |= {word: chats_by_word.get(word, chats) & chats for word in common}
        return chats_by_word


def find_quotes(answer: str, question: str, lines: Iterable[MemoryLine], public: Sequence[LineWords]) -> Quotes:
    """The private ``lines`` and ``public`` words that an answer repeats, without the words of its question."""
    private = frozenset(word for line in lines if line.private for word in terms(line.text))
    said = distinct_terms(answer)
    repeated: dict[str, list[frozenset[str]]] = {word: [] for word in said & private}
    for words in public:
        for word, keys in words.chats(said).items():
            repeated.setdefault(word, []).append(keys)
    asked = terms_among(question, repeated)
    own = {word: found for word, found in repeated.items() if word not in asked}
    chats = [frozenset.intersection(*found) for found in own.values() if found]
    return Quotes(frozenset(word for word, found in own.items() if not found), frozenset[str]().union(*chats))
