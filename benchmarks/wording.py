"""The content words of English text that ``benchmarks.retention`` compares: normalised, stemmed, in order."""

import re
import unicodedata
from functools import cache

from snowballstemmer import stemmer

MONTHS = tuple("january february march april may june july august september october november december".split())
MONTH_OF = {month[:3]: month for month in MONTHS} | {"sept": "september"}

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
NUMBER_OF = {word: str(value) for value, word in enumerate(_COUNTED.split())} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "hundred": "100",
    "first": "1",
    "second": "2",
    "third": "3",
    "fourth": "4",
    "fifth": "5",
    "once": "1",
    "twice": "2",
}

#: Words that carry no content, by part of speech. "may" is a month here and "once" a number.
FUNCTION_WORDS = frozenset(
    " ".join(
        (
            "a an the this that these those",  # determiners
            "all any both each few more most none other own same some such",
            "i me my we us our you your he him his she her they them their it its",  # pronouns
            "what when where which who whom whose why how there here",
            "am is are was were be been being do does did done have has had having",  # verbs
            "can could might must shall should will would",
            "about after at as before by down during for from in into of off on out over",  # prepositions
            "since than through to until up while with within",
            "and because but if nor or so then",  # conjunctions
            "again also further just likely no not only probably too very yes",  # adverbs
            "d didn don isn ll m re s t ve wasn",  # what an apostrophe leaves behind
            "assistant mentioned photo said says user",  # how logs and questions speak about chats
        )
    ).split()
)

_DAY = re.compile(r"\b((?:19|20)\d\d)[-/](\d\d)[-/](\d\d)(?!\d)")
_MONTH = re.compile(r"\b((?:19|20)\d\d)-(\d\d)\b(?![-\d])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b")
_POSSESSIVE = re.compile(r"['’]s\b")
_WORD = re.compile(r"[a-z0-9]+")

_STEMMER = stemmer("english")
#: Identifiers longer than this keep their leading zeros.
_LONGEST_NUMBER = 11


def content_words(text: str) -> list[str]:
    """Every content word in order; dates as "8 may 2023" however written, numbers as digits."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    plain = _MONTH.sub(_spelt, _DAY.sub(_spelt, plain))
    plain = _POSSESSIVE.sub("", _ORDINAL.sub(r"\1", _THOUSANDS.sub("", plain)))
    normal = (MONTH_OF.get(word, word) for word in (NUMBER_OF.get(w, w) for w in _WORD.findall(plain)))
    return [_stem(_trimmed(word)) for word in normal if word not in FUNCTION_WORDS]


def _spelt(found: re.Match[str]) -> str:
    """A numeric date with its month as a word; left alone if there is no such month."""
    year, month, *day = found.groups()
    if not 1 <= int(month) <= len(MONTHS):
        return found[0]
    return f" {int(day[0]) if day else ''} {MONTHS[int(month) - 1]} {year} "


def _trimmed(word: str) -> str:
    return str(int(word)) if word.isdigit() and len(word) <= _LONGEST_NUMBER else word


@cache
def _stem(word: str) -> str:
    """Not memory's own stemmer: the judge must not share a part with what it judges."""
    return _STEMMER.stemWord(word)
