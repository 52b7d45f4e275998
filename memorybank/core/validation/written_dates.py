"""Read dates in any common written form as (year, month, day), with missing parts as None."""

import re
from typing import NamedTuple

from memorybank.language import alternation, collect, pack, packs

MONTH_NUMBERS = {
    name: number
    for language in packs()
    for number, names in enumerate(language.dates.months, start=1)
    for name in names.split()
}

_MONTH = rf"(?P<m>{alternation(MONTH_NUMBERS)})(?![^\W\d_])\.?"
_DAY = r"(?P<d>0?[1-9]|[12]\d|3[01])(?!\d)"
_YEAR = r"(?P<y>(?:1[5-9]|20|21)\d\d)(?!\d)"
_ORDINAL = rf"(?:{alternation(collect(lambda pack: pack.dates.ordinals))}|\.)?"
_OF_WORD = rf"(?:{alternation(collect(lambda pack: pack.dates.of))})"
_OF = rf"(?:[\s,-]+{_OF_WORD}(?=\s))?"
_BEFORE_DAY = rf"(?:(?:{alternation(collect(lambda pack: pack.dates.before_day))})\s+)?"
_ENGLISH_ORDINAL = rf"(?:{alternation(pack('en').dates.ordinals)})?"  # after a month other endings are words
_FORMS = (
    rf"(?<!\d){_YEAR}\s*年\s*(?:(?P<m>1[0-2]|0?[1-9])\s*月(?:\s*{_DAY}\s*[日号號])?)?",
    rf"(?<!\d)(?P<m>1[0-2]|0?[1-9])\s*月\s*{_DAY}\s*[日号號]",
    rf"(?<![\d.]){_YEAR}([-/.])(?P<m>1[0-2]|0?[1-9])(?:\2{_DAY})(?![-/]?\d)",
    rf"(?<![\d.-]){_YEAR}-(?P<m>1[0-2]|0[1-9])(?![-\d])",
    rf"(?<!\d){_DAY}{_ORDINAL}{_OF}[\s,-]+{_MONTH}(?:{_OF}[\s,-]+{_YEAR})?",
    rf"(?<![^\W\d_]){_MONTH}[\s-]+{_BEFORE_DAY}{_DAY}{_ENGLISH_ORDINAL}(?![^\W\d_])(?!:\d)(?:[\s,-]+(?:{_OF_WORD}\s+)?{_YEAR})?",
    rf"(?<![^\W\d_]){_MONTH}{_OF}[\s,-]+{_YEAR}",
)  # fmt: skip
_DATE_PATTERNS = tuple(re.compile(form) for form in _FORMS)
_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2((?:1[5-9]|20|21)\d\d|\d\d)(?![\d])(?![/.-]\d)")
_NAME = re.compile(r"[^\W\d_]+")
_DAY_AND_MONTH = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})\.?(?![\d/.])")


class WrittenDate(NamedTuple):
    """A date in a text; parts that the text does not state are None."""

    year: int | None
    month: int | None
    day: int | None

    def states(self, other: "WrittenDate") -> bool:
        """Whether every part of ``other`` is stated here."""
        return all(theirs is None or theirs == ours for ours, theirs in zip(self, other, strict=True))


class DateMention(NamedTuple):
    """A date in a text; several readings where 7/5/2023 may be May or July."""

    start: int
    end: int
    readings: tuple[WrittenDate, ...]


def mentions(text: str) -> list[DateMention]:
    """Dates in ``text`` (casefolded), longest first where they overlap, in order of appearance."""
    dates = [DateMention(*match.span(), (_date(match),)) for form in _DATE_PATTERNS for match in form.finditer(text)]
    dates += [mention for match in _SLASHED.finditer(text) if (mention := _numeric(match, match[4]))]
    return _without_overlaps(dates)


def short_mentions(text: str) -> list[DateMention]:
    """Possible dates without a year, such as ``5/7`` or ``7.5.``: they may support a date, but claim none."""
    return [mention for match in _DAY_AND_MONTH.finditer(text) if (mention := _numeric(match, None))]


def named_months(text: str) -> set[int]:
    """The months that a casefolded text names, with or without a day; the verb “may” counts as the month."""
    return {MONTH_NUMBERS[word] for word in _NAME.findall(text) if word in MONTH_NUMBERS}


def without(dates: list[DateMention], text: str) -> str:
    """``text`` with the mentions cut out."""
    for mention in reversed(dates):
        text = f"{text[: mention.start]} ; {text[mention.end :]}"
    return text


def _date(match: re.Match[str]) -> WrittenDate:
    groups = match.groupdict()
    year, month, day = groups.get("y"), groups.get("m"), groups.get("d")
    return WrittenDate(int(year) if year else None, _month_number(month) if month else None, int(day) if day else None)


def _month_number(month: str) -> int:
    return int(month) if month.isdigit() else MONTH_NUMBERS[month]


def _numeric(match: re.Match[str], year: str | None) -> DateMention | None:
    first, second = int(match[1]), int(match[3] if year else match[2])
    full = None if year is None else int(year) + (2000 if len(year) == 2 else 0)
    pairs = {(first, second), (second, first)}
    readings = tuple(
        WrittenDate(full, month, day) for month, day in sorted(pairs) if 1 <= month <= 12 and 1 <= day <= 31
    )
    return DateMention(*match.span(), readings) if readings else None


def _without_overlaps(dates: list[DateMention]) -> list[DateMention]:
    """Mentions that do not overlap: the leftmost wins, then the longest."""
    kept: list[DateMention] = []
    for mention in sorted(dates, key=lambda date: (date.start, -date.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept
