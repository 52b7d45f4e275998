"""Text → the words a turn is found by, the same on every database. Pure.

The index holds no readable word: each is the bank's number and a hash, so that no query of one bank can meet
a word of another, and what a database keeps of a deleted row for a while (FTS5 segments, dead tuples) says
nothing. Dates are words, too: a turn is found by the day it was said on and by the days it speaks of.
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

#: Of a very long turn this many content words are indexed; a full-text row has a limit (1 MB in PostgreSQL).
MOST_WORDS = 8_000
#: Of a very long question, this many content words are looked for: those of its beginning and of its end.
MOST_ASKED = 32
#: What stands behind an index word for the speaker of a turn, and for a whole name of theirs: no word ends so.
SPEAKER, NAME = ":", "="

SMALL_TALK = PRAISE_WORDS.union(*map(words, collect(lambda pack: pack.talk.openers)))
#: What is left of words that greet, thank, agree or halt: a sentence of nothing else tells nothing.
FILLING = frozenset(map(stem, SMALL_TALK.union(*map(words, collect(lambda pack: pack.talk.hesitations)))))
#: "Summarise the discussion about …": these are about the answer; what is looked for has nothing of them. As they are
#: spelt, because six letters of "concerning" are those of "concert".
ASKING = frozenset(chain.from_iterable(map(words, collect(lambda pack: pack.talk.asking))))

_APOSTROPHE, _OWN = re.compile("['’]"), re.compile("['’]s$")
_MONTH = "|".join(MONTHS)
_TH, _OF = (alternation(words) for words in (pack("en").dates.ordinals, pack("en").dates.of))
_SPELT = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:{_TH})?(?: {_OF})? )?(?P<month>{_MONTH})"
    rf"(?: (?P<after>\d{{1,2}})(?:{_TH})?\b)?(?:,? (?P<year>(?:19|20)\d\d)\b)?"
)
_ISO = re.compile(r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\w-])")
_YEAR = re.compile(r"(?<![\w.,-])(?P<year>(?:19|20)\d\d)(?![\w-]|[.,]\d)")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A day, month or year as far as a text names it; 0 is what it leaves open."""

    year: int = 0
    month: int = 0
    day: int = 0

    def word(self) -> str:
        """As an index word."""
        return f"@{self.year or ''}-{self.month or ''}-{self.day or ''}"

    def coarser(self) -> Iterator["PartialDate"]:
        """Everything it can be asked for by: itself, its month, its year, and without the year."""
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
    found = {_spelt(match) for match in _SPELT.finditer(text)}
    found |= {PartialDate(int(m["year"]), int(m["month"]), int(m["day"] or 0)) for m in _ISO.finditer(text)}
    bare = _ISO.sub(" ", _SPELT.sub(" ", text))
    return found | {PartialDate(int(match["year"])) for match in _YEAR.finditer(bare)}


def _undated(text: str) -> str:
    """Without its dates, which are looked for as such."""
    for pattern in (_SPELT, _ISO, _YEAR):
        text = pattern.sub(" ", text)
    return text


def _spelt(match: re.Match[str]) -> PartialDate:
    day = int(match["day"] or match["after"] or 0)
    return PartialDate(int(match["year"] or 0), MONTHS.index(match["month"]) + 1, day if day <= 31 else 0)


def date_words(said_on: date, text: str) -> list[str]:
    """What a turn said on ``said_on`` is found by when a question names a date."""
    days = {PartialDate(said_on.year, said_on.month, said_on.day), *partial_dates(text)}
    return sorted({each.word() for day in days for each in day.coarser()})


def is_small_talk(text: str) -> bool:
    """Whether it only greets, thanks or agrees: nobody looks anything up for that."""
    return all(word in SMALL_TALK or word in FUNCTION_WORDS for word in words(text))


def parts(text: str) -> Iterator[str]:
    """The words in order, of "belief-net" both: one person joins them, another does not. Identifiers stay whole."""
    for word in words(text):
        joined = word.split("-") if "-" in word else ()
        yield from joined if joined and all(map(str.isalpha, joined)) else (word,)


def searched(text: str) -> list[str]:
    """The content words that a text is found by, in order, without their endings."""
    return [stem(word) for word in parts(text) if word not in FUNCTION_WORDS and len(word) <= MAX_WORD_CHARACTERS]


def names(text: str) -> list[str]:
    """All that may be the name of somebody in a text: every word, and each two that stand together; bounded."""
    said = [_OWN.sub("", word) for word in parts(text)]
    alone = [word for word in said if word not in FUNCTION_WORDS]
    together = [f"{one} {other}" for one, other in pairwise(said) if not FUNCTION_WORDS.issuperset((one, other))]
    return _ends(list(dict.fromkeys([*alone, *together])), 2 * MOST_ASKED)


def naming(speaker: str) -> list[str]:
    """What of :func:`names` a text has that names this speaker, by the whole name."""
    found = names(speaker)
    return [name for name in found if " " in name] or found


def spoken_by(speaker: str) -> list[str]:
    """The index words of a turn for who speaks in it: the words of the name, and what names them."""
    return [*(word + SPEAKER for word in searched(speaker)), *(name + NAME for name in naming(speaker))]


def contracted(word: str) -> bool:
    """Whether it is made of words that tell nothing: "what's"."""
    return not word.isalnum() and FUNCTION_WORDS.issuperset(_APOSTROPHE.split(word))


def asked(question: str) -> list[str]:
    """The distinct content words of a question, without its dates; none of small talk; bounded."""
    question = _undated(question)
    found = [] if is_small_talk(question) else list(dict.fromkeys(searched(question)))
    return _ends(found, MOST_ASKED)


def _ends(found: list[str], most: int) -> list[str]:
    """The first and the last of them, if they are too many."""
    return found if len(found) <= most else found[: most // 2] + found[-most // 2 :]


def about(question: str) -> list[str]:
    """What :func:`asked` finds, without the words of asking itself."""
    said = {stem(word) for word in parts(question) if word not in ASKING and not contracted(word)}
    return [word for word in asked(question) if word in said]


def is_broad(question: str) -> bool:
    """Whether it asks what was talked about rather than for one fact: it has a word of asking."""
    return not ASKING.isdisjoint(words(question))


def hashed(bank_id: int, word: str) -> str:
    """The index word of ``word`` in a bank: ASCII letters and digits, beginning with a letter."""
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=5).digest()
    return f"b{bank_id}x{base64.b32encode(digest).decode().lower()}"


def of_chat(bank_id: int, chat_id: int) -> str:
    """The index word that every turn of a chat has, so that the index itself can leave the chat out."""
    return f"b{bank_id}c{chat_id}"


def indexed(bank_id: int, chat_id: int, said: Sequence[str], others: Iterable[str]) -> str:
    """The index words of a turn, in one string. Content words are repeated as often as they were said.

    ``others`` are its dates and :func:`spoken_by`.
    """
    known = {word: hashed(bank_id, word) for word in set(said)}
    return " ".join(
        [of_chat(bank_id, chat_id), *(hashed(bank_id, word) for word in others), *map(known.__getitem__, said)]
    )
