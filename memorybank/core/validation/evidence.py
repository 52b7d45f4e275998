"""Evidence of a source: its numbers, dates, links and times, to compare with claims."""

import re
import unicodedata
from dataclasses import dataclass

from memorybank.core.validation.numbers import values
from memorybank.core.validation.written_dates import WrittenDate, mentions, short_mentions, without

URL = re.compile(r"(?:https?|ftp)://[^\s<>\"'()\[\]{}‹›，。、；]+|(?<![\w.@])www\.[^\s<>\"'()\[\]{}‹›，。、；]+")
EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
CLOCK_TIME = re.compile(
    r"(?<![\d:.])(?P<h>[01]?\d|2[0-3])"
    r"(?:[:h時时点點](?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)|分)?(?:\s?[ap]\.?m\b\.?)?|\s?[ap]\.?m\b\.?)(?!\d)",
    re.I,
)
_OWN_LABEL = re.compile(r"^\s*\[F?\d+\]")
_SCHEME = re.compile(r"^(?:https?|ftp)://(?:www\.)?|^www\.")


def normalized(text: str) -> str:
    """``text`` with one form for each character: full-width, Arabic and Devanagari digits become 0-9."""
    # NFKC writes fractions such as ½ with U+2044, but people type a plain slash.
    text = unicodedata.normalize("NFKC", text).replace("\u2044", "/")
    if text.isascii():
        return text
    return "".join(_digit(character) for character in text)


def _digit(character: str) -> str:
    value = None if character.isascii() else unicodedata.decimal(character, None)
    return character if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source, read once. ``text`` is normalised and casefolded."""

    text: str
    numbers: frozenset[str]
    dates: tuple[WrittenDate, ...]
    links: frozenset[str]
    times: frozenset[str]

    @classmethod
    def of(cls, source: str) -> "Evidence":
        """Read ``source``."""
        text = normalized(_OWN_LABEL.sub("", source)).casefold()
        date_mentions = mentions(text)
        dates = tuple(date for mention in date_mentions + short_mentions(text) for date in mention.readings)
        links = frozenset(normalized_link(match[0]) for pattern in (URL, EMAIL) for match in pattern.finditer(text))
        clocks = frozenset(time for match in CLOCK_TIME.finditer(text) for time in clock_times(match))
        # A year is also a number, and so is a full hour: "at 3" instead of 15:00 is no new claim.
        years = {str(date.year) for date in dates if date.year}
        hours = {time.removesuffix(":00") for time in clocks if time.endswith(":00")}
        # Times are removed first, otherwise 14:30 would support a 14 and a 30.
        return cls(
            text, values(CLOCK_TIME.sub(" ; ", without(date_mentions, text))) | years | hours, dates, links, clocks
        )


def normalized_link(written: str) -> str:
    """A link or address without the parts that people omit: scheme, www, a final slash or full stop."""
    return _SCHEME.sub("", written.casefold().rstrip(".,;:!?*_`~")).rstrip("/")


def clock_times(match: re.Match[str]) -> tuple[str, ...]:
    """A time of day as written and on the other clock (2:30 is 14:30); the most exact first."""
    hour, minute, second = int(match["h"]), match["m"] or "00", match["s"]
    exact = [f"{hour}:{minute}", f"{(hour + 12) % 24}:{minute}"]
    return (*(f"{time}:{second}" for time in exact if second), *exact)
