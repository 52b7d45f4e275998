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

_M = rf"(?P<m>{alternation(MONTH_NUMBERS)})(?![^\W\d_])\.?"
_D = r"(?P<d>0?[1-9]|[12]\d|3[01])(?!\d)"
_Y = r"(?P<y>(?:1[5-9]|20|21)\d\d)(?!\d)"
_ORDINAL = rf"(?:{alternation(collect(lambda pack: pack.dates.ordinals))}|\.)?"
_OF_WORD = rf"(?:{alternation(collect(lambda pack: pack.dates.of))})"
_OF = rf"(?:[\s,-]+{_OF_WORD}(?=\s))?"
_THE = rf"(?:(?:{alternation(collect(lambda pack: pack.dates.before_day))})\s+)?"
_TH = rf"(?:{alternation(pack('en').dates.ordinals)})?"  # after a month other endings are words
_FORMS = (
    rf"(?<!\d){_Y}\s*年\s*(?:(?P<m>1[0-2]|0?[1-9])\s*月(?:\s*{_D}\s*[日号號])?)?",
    rf"(?<!\d)(?P<m>1[0-2]|0?[1-9])\s*月\s*{_D}\s*[日号號]",
    rf"(?<![\d.]){_Y}([-/.])(?P<m>1[0-2]|0?[1-9])(?:\2{_D})(?![-/]?\d)",
    rf"(?<![\d.-]){_Y}-(?P<m>1[0-2]|0[1-9])(?![-\d])",
    rf"(?<!\d){_D}{_ORDINAL}{_OF}[\s,-]+{_M}(?:{_OF}[\s,-]+{_Y})?",
    rf"(?<![^\W\d_]){_M}[\s-]+{_THE}{_D}{_TH}(?![^\W\d_])(?!:\d)(?:[\s,-]+(?:{_OF_WORD}\s+)?{_Y})?",
    rf"(?<![^\W\d_]){_M}{_OF}[\s,-]+{_Y}",
)  # fmt: skip
_WRITTEN = tuple(re.compile(form) for form in _FORMS)
_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2((?:1[5-9]|20|21)\d\d|\d\d)(?![\d])(?![/.-]\d)")
_SHORT = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})\.?(?![\d/.])")


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
    dates = [DateMention(*match.span(), (_date(match),)) for form in _WRITTEN for match in form.finditer(text)]
    dates += [mention for match in _SLASHED.finditer(text) if (mention := _numeric(match, match[4]))]
    return _apart(dates)


def short_mentions(text: str) -> list[DateMention]:
    """Possible dates without a year, such as ``5/7`` or ``7.5.``: they may support a date, but claim none."""
    return [mention for match in _SHORT.finditer(text) if (mention := _numeric(match, None))]


def without(dates: list[DateMention], text: str) -> str:
    """``text`` with the mentions cut out."""
    for mention in reversed(dates):
        text = f"{text[: mention.start]} ; {text[mention.end :]}"
    return text


def _date(match: re.Match[str]) -> WrittenDate:
    groups = match.groupdict()
    month = groups.get("m")
    year, day = groups.get("y"), groups.get("d")
    number = None if month is None else int(month) if month.isdigit() else MONTH_NUMBERS[month]
    return WrittenDate(int(year) if year else None, number, int(day) if day else None)


def _numeric(match: re.Match[str], year: str | None) -> DateMention | None:
    first, second = int(match[1]), int(match[3] if year else match[2])
    full = None if year is None else int(year) + (2000 if len(year) == 2 else 0)
    pairs = {(first, second), (second, first)}
    readings = tuple(
        WrittenDate(full, month, day) for month, day in sorted(pairs) if 1 <= month <= 12 and 1 <= day <= 31
    )
    return DateMention(*match.span(), readings) if readings else None


def _apart(dates: list[DateMention]) -> list[DateMention]:
    """Mentions that do not overlap: the leftmost wins, then the longest."""
    kept: list[DateMention] = []
    for mention in sorted(dates, key=lambda date: (date.start, -date.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept
