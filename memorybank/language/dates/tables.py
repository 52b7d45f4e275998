"""Date phrases of all languages without their own module, from the tables of their packs."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import chain
from operator import attrgetter
from typing import cast

from memorybank.language import Words, alternation, is_cjk, literals, meanings, packs
from memorybank.language.dates.date_spans import CalendarSpan, Unit, on_weekday, shifted
from memorybank.language.dates.phrases import Phrases, PhraseWriter
from memorybank.language.prefilter import Patterns
from memorybank.language.sections import DateWords

TABLE_PACKS = [pack for pack in packs() if not pack.dates.grammar]


def collect_by_script(of: Callable[[DateWords], Words], *, spaced: bool) -> Words:
    """The words that ``of`` takes from the languages of one kind of script."""
    return tuple(word for pack in TABLE_PACKS if pack.spaced is spaced for word in of(pack.dates))


def offset(means: str) -> tuple[Unit, int]:
    """``"-1 week"`` → ("week", -1)."""
    by, unit = means.split()
    return cast(Unit, unit), int(by)


PHRASES = {phrase: offset(means) for phrase, means in meanings(pack.dates.phrases for pack in TABLE_PACKS).items()}
UNITS = {word: cast(Unit, unit) for word, unit in meanings(pack.dates.units for pack in TABLE_PACKS).items()}
NUMBERS = {word: int(value) for word, value in meanings(pack.dates.numbers for pack in TABLE_PACKS).items()}
WEEKDAYS = {
    name: number for pack in TABLE_PACKS for number, names in enumerate(pack.dates.weekdays) for name in names.split()
}

# A phrase attached to another phrase stays attached after that one gets its date.
NOT_AFTER_DATE = r"(?<!\d\))"
PHRASE_START, PHRASE_END = rf"(?<![\w/@#$-]){NOT_AFTER_DATE}", r"(?![\w/@=-]|\.\w)"


def listed(of: Callable[[DateWords], Iterable[Words]]) -> tuple[str, str]:
    """The words of a table as patterns: for languages with spaces, and for those without."""
    parted, joined = (
        literals(collect_by_script(lambda dates: tuple(chain(*of(dates))), spaced=spaced)) for spaced in (True, False)
    )
    return parted, joined


def characters(of: Callable[[DateWords], Words]) -> str:
    """Single characters, for a character class."""
    return "".join(sorted(set(collect_by_script(of, spaced=False))))


numbers, cjk_numbers = listed(lambda dates: dates.numbers.values())
units, cjk_units = listed(lambda dates: dates.units.values())
weekdays, cjk_weekdays = listed(lambda dates: [tuple(names.split()) for names in dates.weekdays])
known, cjk_known = listed(lambda dates: dates.phrases.values())
ago_before, ago_after, not_ago, last_before, last_after, weekday_tail = (
    alternation(collect_by_script(attrgetter(name), spaced=True))
    for name in ("ago_before", "ago_after", "not_ago", "last_before", "last_after", "weekday_tail")
)
cjk_ago_after, not_before = (
    alternation(collect_by_script(attrgetter(name), spaced=False)) for name in ("ago_after", "not_before")
)

latin_n = rf"(?P<n>\d{{1,3}}|{numbers})"
latin_unit = rf"(?P<unit>{units})"
latin_day = rf"(?P<weekday>{weekdays})(?:{weekday_tail})?"
# Characters that make another word of an apparent phrase: 说明|年龄, 以上|周期, 前往, 来年轻人.
CJK_PHRASE_START = rf"{NOT_AFTER_DATE}(?<![{characters(lambda dates: dates.not_behind)}\d])"
CJK_COUNT_START = (
    rf"{NOT_AFTER_DATE}(?<![\d{cjk_numbers.replace('|', '')}{characters(lambda dates: dates.not_counted)}])"
)
LISTED_PHRASE = re.compile(
    rf"{PHRASE_START}(?P<latin>{known}){PHRASE_END}|{CJK_PHRASE_START}(?P<cjk>{cjk_known})(?!{not_before})",
    re.IGNORECASE,
)
CJK_COUNT = rf"{CJK_COUNT_START}(?P<n>\d{{1,3}}|{cjk_numbers}) ?(?P<unit>{cjk_units})"
AGO_PATTERNS = (
    re.compile(rf"{PHRASE_START}(?:{ago_before}) {latin_n} {latin_unit}{PHRASE_END}(?! (?:{not_ago}))", re.IGNORECASE),
    re.compile(rf"{PHRASE_START}{latin_n} {latin_unit} (?:{ago_after}){PHRASE_END}", re.IGNORECASE),
    re.compile(rf"{CJK_COUNT}(?:{cjk_ago_after})", re.IGNORECASE),
)
LAST_WEEKDAY = re.compile(
    rf"{PHRASE_START}(?:(?:{last_before}) {latin_day}|{latin_day.replace('weekday', 'after')} (?:{last_after}))"
    rf"{PHRASE_END}",
    re.IGNORECASE,
)


def shifted_span(said_on: date, unit: Unit, by: int) -> CalendarSpan | None:
    """The unit that is ``by`` units from now."""
    day = shifted(said_on, unit, by)
    return CalendarSpan(unit, day) if day else None


def ago(match: re.Match[str], said_on: date) -> CalendarSpan | None:
    """vor zwei Wochen, il y a 3 jours, due anni fa, 两年前."""
    written, unit = match["n"], UNITS[match["unit"].lower()]
    count = int(written) if written.isdecimal() else NUMBERS[written.lower()]
    span = shifted_span(said_on, unit, -count)
    return CalendarSpan("day", span.day) if span and unit == "week" else span


def last_weekday(match: re.Match[str], said_on: date) -> CalendarSpan | None:
    """letzten Freitag, vendredi dernier: the latest one."""
    wanted = WEEKDAYS[(match["weekday"] or match["after"]).lower()]
    return shifted_span(said_on, "day", -((said_on.weekday() - wanted - 1) % 7 + 1))


def listed_phrase(match: re.Match[str], said_on: date) -> CalendarSpan | None:
    """gestern, le mois dernier, 来年: phrases from the table."""
    return shifted_span(said_on, *PHRASES[match[0].lower().replace("’", "'")])


SpanReading = Callable[[re.Match[str], date], CalendarSpan | None]


def always(unit: Unit, by: int) -> SpanReading:
    """A reading that ignores the match."""
    return lambda match, said_on: shifted_span(said_on, unit, by)


def week_and_day(weeks: int) -> SpanReading:
    """上周五, 先週の金曜日: a day of the calendar week that is ``weeks`` from now."""

    def read(match: re.Match[str], said_on: date) -> CalendarSpan | None:
        day = on_weekday(said_on, WEEKDAYS[match["weekday"]], weeks)
        return CalendarSpan("day", day) if day else None

    return read


def weekday_rules(dates: DateWords) -> Iterator[tuple[re.Pattern[str], SpanReading]]:
    """Patterns for days counted from another week."""
    days = literals(chain(*(names.split() for names in dates.weekdays)))
    for weeks, patterns in dates.week_and_day.items():
        phrase = rf"(?:{alternation(patterns)})(?P<weekday>{days})(?:{alternation(dates.weekday_tail)})?"
        yield re.compile(phrase), week_and_day(int(weeks))


def pattern_rules(dates: DateWords) -> Iterator[tuple[re.Pattern[str], SpanReading]]:
    """Ambiguous phrases together with the neighbours that make them unambiguous."""
    for means, patterns in dates.patterns.items():
        yield (
            re.compile(rf"{PHRASE_START}(?:{alternation(patterns)}){PHRASE_END}", re.IGNORECASE),
            always(*offset(means)),
        )


TABLE_RULES: Patterns[SpanReading] = Patterns(
    [
        *(rule for pack in TABLE_PACKS for rule in weekday_rules(pack.dates)),
        *((pattern, ago) for pattern in AGO_PATTERNS),
        (LAST_WEEKDAY, last_weekday),
        (LISTED_PHRASE, listed_phrase),
        *(rule for pack in TABLE_PACKS for rule in pattern_rules(pack.dates)),
    ]
)


def annotated(phrase: str, span: CalendarSpan) -> str:
    gap = "" if is_cjk(phrase[-1]) else " "
    return f"{phrase}{gap}({span.iso()})"


def claim(phrases: Phrases, said_on: date) -> None:
    """Claim the phrases of these languages, each with its ISO date beside it."""

    def reader(read: SpanReading) -> Callable[[re.Match[str]], PhraseWriter | None]:
        def writing(match: re.Match[str]) -> PhraseWriter | None:
            span = read(match, said_on)
            return (lambda before: annotated(match[0], span)) if span else None

        return writing

    for pattern, read in TABLE_RULES.possible(phrases.text):
        phrases.claim(pattern, reader(read))
