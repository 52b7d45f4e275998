"""Find what an answer repeats from its memory: words of private lines, and words from certain chats only. Pure."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import unescape
from typing import Any, NamedTuple

from memorybank.core.memory_line import MemoryLine
from memorybank.language.characters import plain
from memorybank.language.terms import distinct_terms, terms, terms_among

#: Markup that is not seen when Markdown is shown; inside a word it divides it.
_UNSEEN = re.compile(r"\]\([^()\s]*\)|[\[\]*_`~\\]")


class Quotes(NamedTuple):
    """Words of an answer that only private lines have; and the keys of chats, a public source of each other word."""

    words: frozenset[str] = frozenset()
    chats: frozenset[str] = frozenset()


class PrivateWord(NamedTuple):
    """The private turns with a word, and whether it is so frequent everywhere that it names nothing by itself."""

    places: frozenset[int]
    is_everyday: bool


#: So many words of one private turn are a quotation, even if each of them is an everyday word.
MIN_EVERYDAY_WORDS = 2
#: How many lines with a word are considered as its source.
MAX_SOURCES = 4
#: Of a longer question only the two ends are compared: reading a megabyte takes up to 50 ms.
MAX_COMPARED_CHARACTERS = 100_000
#: The result for an answer that repeats nothing.
NO_QUOTES = Quotes()


def written_text(answer: str, messages: Sequence[Any] = ()) -> str:
    """The text of an answer and its messages for comparisons, also as it is seen: without markup and hidden signs."""
    text = "\n".join([answer, *_texts_in(messages)])
    seen = plain(_UNSEEN.sub("", unescape(text)))
    return text if seen == text else f"{text}\n{seen}"


def _texts_in(value: Any) -> Iterator[str]:
    """All texts inside a JSON value, and inside texts that are JSON, such as the arguments of a tool call."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value.lstrip().startswith(("{", "[")) else None
        except (ValueError, RecursionError):
            inner = None
        yield from _texts_in(inner) if inner else (value,)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts_in(part)
    elif isinstance(value, int | float):
        yield str(value)


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

    def sources(self, wanted: frozenset[str]) -> dict[str, list[frozenset[str]]]:
        """For each ``wanted`` word of a line, the source chats of the lines with it; ``MAX_SOURCES`` lines count."""
        by_word: dict[str, list[frozenset[str]]] = {}
        for line, words in zip(self._shown, self._words, strict=True):
            if common := wanted & words:
                chats = frozenset(line.chats)
                for word in common:
                    known = by_word.setdefault(word, [])
                    if len(known) < MAX_SOURCES and chats not in known:
                        known.append(chats)
        return by_word


def find_quotes(answer: str, question: str, lines: Iterable[MemoryLine], public: Sequence[LineWords]) -> Quotes:
    """The private ``lines`` and ``public`` words that an answer repeats, without the words of its question."""
    private = frozenset(word for line in lines if line.private for word in terms(line.text))
    said = distinct_terms(answer)
    repeated: dict[str, list[frozenset[str]]] = {word: [] for word in said & private}
    for words in public:
        for word, sources in words.sources(said).items():
            repeated.setdefault(word, []).extend(sources)
    asked = words_asked(question, repeated)
    own = {word: found for word, found in repeated.items() if word not in asked}
    return Quotes(frozenset(word for word, found in own.items() if not found), _covering(own))


def words_asked(question: str, wanted: Collection[str]) -> frozenset[str]:
    """Those of the words ``wanted`` that a question has; an answer does not quote them from memory.

    Of a question longer than ``MAX_COMPARED_CHARACTERS`` only the whole words at its two ends are read. That is safe: a
    word that is not read excuses nothing, so more of the answer counts as a quotation, never less.
    """
    if len(question) > MAX_COMPARED_CHARACTERS:
        head, tail = question[: MAX_COMPARED_CHARACTERS // 2], question[-MAX_COMPARED_CHARACTERS // 2 :]
        # Without the words that are cut off: a part of a word may be another word.
        question = "\n".join([*head.rsplit(None, 1)[:-1], *tail.split(None, 1)[1:]])
    return terms_among(question, wanted)


def _covering(sources: Mapping[str, Sequence[frozenset[str]]]) -> frozenset[str]:
    """Few chats that include one of the sources of each word."""
    chosen = frozenset[str]()
    for _, some in sorted(sources.items(), key=lambda item: (len(item[1]), item[0])):
        if some and not any(chats <= chosen for chats in some):
            chosen |= min(some, key=len)
    return chosen


def find_read_words(answer: str, question: str, read: Mapping[str, PrivateWord]) -> frozenset[str]:
    """The words of an answer among those that a program may have ``read``, without the words of its question.

    Unlike the lines that a prompt was given, these may be all words of somebody's private chats. So everyday words
    count only if the answer has several of one private turn.
    """
    repeated = read.keys() & distinct_terms(answer) if read else frozenset[str]()
    own = repeated - words_asked(question, repeated)
    words_at = Counter(place for word in own for place in read[word].places)
    quoted = {place for place, words in words_at.items() if words >= MIN_EVERYDAY_WORDS}
    return frozenset(word for word in own if not read[word].is_everyday or not quoted.isdisjoint(read[word].places))
