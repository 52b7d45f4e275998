"""Turn text into the words a turn is found by, the same on every database. Pure.

The index holds no readable word: each is the bank's number and a hash, so no query of one bank can match a word of
another, and what a database keeps of a deleted row for a while (FTS5 segments, dead tuples) reveals nothing. Dates are
words, too: a turn is found by its own day and by the days it mentions.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, pairwise

from memorybank.language import alternation, collect, pack
from memorybank.language.dates.date_spans import MONTHS
from memorybank.language.terms import FUNCTION_WORDS, MAX_WORD_CHARACTERS, PRAISE_WORDS, stem, words

#: Maximum of a turn's content words that are indexed; a full-text row has a limit (1 MB in PostgreSQL).
MAX_INDEXED_WORDS = 8_000
#: Maximum of a question's content words that are searched, half from its beginning and half from its end.
MAX_QUESTION_WORDS = 32
#: Suffixes of index words for a turn's speaker, and for a speaker's whole name: no word ends with them.
SPEAKER_SUFFIX, NAME_SUFFIX = ":", "="

SMALL_TALK_WORDS = PRAISE_WORDS.union(*map(words, collect(lambda pack: pack.talk.openers)))
#: Stems of words that greet, thank, agree or hesitate: a sentence of only these has no content.
FILLER_WORDS = frozenset(map(stem, SMALL_TALK_WORDS.union(*map(words, collect(lambda pack: pack.talk.hesitations)))))
#: "Summarise the discussion about …": these words describe the answer, not its subject. They are not stemmed, because
#: the stem of "concerning" is that of "concert".
ASKING_WORDS = frozenset(chain.from_iterable(map(words, collect(lambda pack: pack.talk.asking))))

_APOSTROPHE, POSSESSIVES = re.compile("['’]"), ("'s", "’s")
_MONTH = "|".join(MONTHS)
_ORDINAL, _OF = (alternation(words) for words in (pack("en").dates.ordinals, pack("en").dates.of))
_WRITTEN_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:{_ORDINAL})?(?: {_OF})? )?(?P<month>{_MONTH})"
    rf"(?: (?P<after>\d{{1,2}})(?:{_ORDINAL})?\b)?(?:,? (?P<year>(?:19|20)\d\d)\b)?"
)
_ISO_DATE = re.compile(r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\w-])")
_YEAR = re.compile(r"(?<![\w.,-])(?P<year>(?:19|20)\d\d)(?![\w-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A day, month or year as far as a text names it; 0 stands for a part that is not named."""

    year: int = 0
    month: int = 0
    day: int = 0

    def word(self) -> str:
        """As an index word."""
        return f"@{self.year or ''}-{self.month or ''}-{self.day or ''}"

    def coarser(self) -> Iterator["PartialDate"]:
        """Every date that a question may name to find it: itself, its month, its year, itself without the year."""
        yield self
        if self.day:
            yield PartialDate(self.year, self.month)
        if self.month and self.year:
            yield PartialDate(self.year)
            yield PartialDate(0, self.month)
        if self.day and self.year:
            yield PartialDate(0, self.month, self.day)


def partial_dates(text: str) -> set[PartialDate]:
    """The dates a text names, in words ("7 May 2023", "May 2023") or as ISO 8601."""
    dates = {_written_date(match) for match in _WRITTEN_DATE.finditer(text)}
    dates |= {PartialDate(int(m["year"]), int(m["month"]), int(m["day"] or 0)) for m in _ISO_DATE.finditer(text)}
    bare = _ISO_DATE.sub(" ", _WRITTEN_DATE.sub(" ", text))
    return dates | {PartialDate(int(match["year"])) for match in _YEAR.finditer(bare)}


def _without_dates(text: str) -> str:
    """The text without its dates, which are searched separately."""
    for pattern in (_WRITTEN_DATE, _ISO_DATE, _YEAR):
        text = pattern.sub(" ", text)
    return text


def _written_date(match: re.Match[str]) -> PartialDate:
    day = int(match["day"] or match["after"] or 0)
    return PartialDate(int(match["year"] or 0), MONTHS.index(match["month"]) + 1, day if day <= 31 else 0)


def date_words(said_on: date, text: str) -> list[str]:
    """The index words of the dates by which a turn said on ``said_on`` is found."""
    days = {PartialDate(said_on.year, said_on.month, said_on.day), *partial_dates(text)}
    return sorted({partial.word() for day in days for partial in day.coarser()})


def is_small_talk(text: str) -> bool:
    """Whether the text only greets, thanks or agrees: nothing is recalled for that."""
    return all(word in SMALL_TALK_WORDS or word in FUNCTION_WORDS for word in words(text))


def split_words(text: str) -> Iterator[str]:
    """The words in order, "belief-net" as two: people differ in hyphenation. Identifiers stay whole."""
    for word in words(text):
        joined = word.split("-") if "-" in word else ()
        yield from joined if joined and all(map(str.isalpha, joined)) else (word,)


def content_words(text: str) -> list[str]:
    """The stems of the content words, in order."""
    return [stem(word) for word in split_words(text) if word not in FUNCTION_WORDS and len(word) <= MAX_WORD_CHARACTERS]


def possible_names(text: str) -> list[str]:
    """Everything in a text that may be a person's name: every word, and each pair of words; bounded."""
    spoken = [word[:-2] if word.endswith(POSSESSIVES) else word for word in split_words(text)]
    single = [word for word in spoken if word not in FUNCTION_WORDS]
    pairs = [f"{one} {other}" for one, other in pairwise(spoken) if not FUNCTION_WORDS.issuperset((one, other))]
    return _first_and_last(list(dict.fromkeys([*single, *pairs])), 2 * MAX_QUESTION_WORDS)


def words_naming(speaker: str) -> list[str]:
    """The :func:`possible_names` that name this speaker: the whole name."""
    names = possible_names(speaker)
    return [name for name in names if " " in name] or names


def speaker_words(speaker: str) -> list[str]:
    """The index words for the speaker of a turn: each word of the name, and the whole name."""
    return [
        *(word + SPEAKER_SUFFIX for word in content_words(speaker)),
        *(name + NAME_SUFFIX for name in words_naming(speaker)),
    ]


def is_contraction(word: str) -> bool:
    """Whether the word is a contraction of function words: "what's"."""
    return not word.isalnum() and FUNCTION_WORDS.issuperset(_APOSTROPHE.split(word))


def question_words(question: str) -> list[str]:
    """The distinct content words of a question without its dates, at most 32; [] if it is only small talk."""
    question = _without_dates(question)
    found_words = [] if is_small_talk(question) else list(dict.fromkeys(content_words(question)))
    return _first_and_last(found_words, MAX_QUESTION_WORDS)


def _first_and_last(words: list[str], limit: int) -> list[str]:
    """At most ``limit`` words: half from the beginning and half from the end."""
    return words if len(words) <= limit else words[: limit // 2] + words[-limit // 2 :]


def topic_words(question: str) -> list[str]:
    """The :func:`question_words` without ``ASKING_WORDS`` and contractions such as "what's"."""
    distinct = frozenset(split_words(question)) - ASKING_WORDS
    topic = {stem(word) for word in distinct if not is_contraction(word)}
    return [word for word in question_words(question) if word in topic]


def is_broad(question: str) -> bool:
    """Whether the question is about a topic and not for one fact: it has one of ``ASKING_WORDS``."""
    return not ASKING_WORDS.isdisjoint(words(question))


def hash_word(bank_id: int, word: str) -> str:
    """The index word of ``word`` in a bank: ASCII letters and digits, beginning with a letter."""
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=5).digest()
    return f"b{bank_id}x{base64.b32encode(digest).decode().lower()}"


def chat_word(bank_id: int, chat_id: int) -> str:
    """The index word of every turn of a chat, so that the index can exclude the chat."""
    return f"b{bank_id}c{chat_id}"


def private_word(bank_id: int) -> str:
    """The index word of every turn of a private chat, so that the index can exclude them."""
    return f"b{bank_id}p"


def reader_word(bank_id: int, person: str) -> str:
    """The index word of every turn of a private chat that this person may read. The NUL tells it from words of text."""
    return hash_word(bank_id, f"\0{person}")


def audience_words(bank_id: int, readers: Iterable[str] | None) -> list[str]:
    """The index words that say who may find a turn: none for everybody (``None``)."""
    return [] if readers is None else [private_word(bank_id), *(reader_word(bank_id, person) for person in readers)]


def index_text(bank_id: int, chat_id: int, content: Sequence[str], others: Iterable[str], audience: list[str]) -> str:
    """The index words of a turn, in one string. Content words are repeated as often as they occur.

    ``others`` are its dates and :func:`speaker_words`, ``audience`` its :func:`audience_words`.
    """
    known = {word: hash_word(bank_id, word) for word in set(content)}
    marks = [chat_word(bank_id, chat_id), *audience]
    return " ".join([*marks, *(hash_word(bank_id, word) for word in others), *map(known.__getitem__, content)])
