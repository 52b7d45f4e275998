"""Date phrases of all languages without their own module, from the tables of their packs."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import chain
from operator import attrgetter
from typing import cast

from memorybank.language import Words, either, is_cjk, meaning, packs, spelt
from memorybank.language.dates.date_spans import Span, Unit, on_weekday, shifted
from memorybank.language.dates.phrases import Phrases, Writing
from memorybank.language.sections import Dates

PACKS = [pack for pack in packs() if not pack.dates.grammar]


def taken(of: Callable[[Dates], Words], *, spaced: bool) -> Words:
    """The words that ``of`` takes from the languages of one kind of script."""
    return tuple(word for pack in PACKS if pack.spaced is spaced for word in of(pack.dates))


def offset(means: str) -> tuple[Unit, int]:
    """``"-1 week"`` → ("week", -1)."""
    by, unit = means.split()
    return cast(Unit, unit), int(by)


PHRASES = {phrase: offset(means) for phrase, means in meaning(pack.dates.phrases for pack in PACKS).items()}
UNITS = {word: cast(Unit, unit) for word, unit in meaning(pack.dates.units for pack in PACKS).items()}
NUMBERS = {word: int(value) for word, value in meaning(pack.dates.numbers for pack in PACKS).items()}
WEEKDAYS = {
    name: number for pack in PACKS for number, names in enumerate(pack.dates.weekdays) for name in names.split()
}

# A phrase attached to another phrase stays attached after that one gets its date.
GLUED = r"(?<!\d\))"
OPEN, CLOSE = rf"(?<![\w/@#$-]){GLUED}", r"(?![\w/@=-]|\.\w)"


def listed(of: Callable[[Dates], Iterable[Words]]) -> tuple[str, str]:
    """The words of a table as patterns: for languages with spaces, and for those without."""
    parted, joined = (spelt(taken(lambda dates: tuple(chain(*of(dates))), spaced=spaced)) for spaced in (True, False))
    return parted, joined


def characters(of: Callable[[Dates], Words]) -> str:
    """Single characters, for a character class."""
    return "".join(sorted(set(taken(of, spaced=False))))


numbers, cjk_numbers = listed(lambda dates: dates.numbers.values())
units, cjk_units = listed(lambda dates: dates.units.values())
weekdays, cjk_weekdays = listed(lambda dates: [tuple(names.split()) for names in dates.weekdays])
known, cjk_known = listed(lambda dates: dates.phrases.values())
ago_before, ago_after, not_ago, last_before, last_after, weekday_tail = (
    either(taken(attrgetter(name), spaced=True))
    for name in ("ago_before", "ago_after", "not_ago", "last_before", "last_after", "weekday_tail")
)
cjk_ago_after, not_before = (either(taken(attrgetter(name), spaced=False)) for name in ("ago_after", "not_before"))

latin_n = rf"(?P<n>\d{{1,3}}|{numbers})"
latin_unit = rf"(?P<unit>{units})"
latin_day = rf"(?P<weekday>{weekdays})(?:{weekday_tail})?"
# Characters that make another word of an apparent phrase: 说明|年龄, 以上|周期, 前往, 来年轻人.
BESIDE = rf"{GLUED}(?<![{characters(lambda dates: dates.not_behind)}\d])"
COUNTED = rf"{GLUED}(?<![\d{cjk_numbers.replace('|', '')}{characters(lambda dates: dates.not_counted)}])"
FIXED = re.compile(rf"{OPEN}(?P<latin>{known}){CLOSE}|{BESIDE}(?P<cjk>{cjk_known})(?!{not_before})", re.IGNORECASE)
COUNT = rf"{COUNTED}(?P<n>\d{{1,3}}|{cjk_numbers}) ?(?P<unit>{cjk_units})"
AGO = (
    re.compile(rf"{OPEN}(?:{ago_before}) {latin_n} {latin_unit}{CLOSE}(?! (?:{not_ago}))", re.IGNORECASE),
    re.compile(rf"{OPEN}{latin_n} {latin_unit} (?:{ago_after}){CLOSE}", re.IGNORECASE),
    re.compile(rf"{COUNT}(?:{cjk_ago_after})", re.IGNORECASE),
)
LAST_WEEKDAY = re.compile(
    rf"{OPEN}(?:(?:{last_before}) {latin_day}|{latin_day.replace('weekday', 'after')} (?:{last_after})){CLOSE}",
    re.IGNORECASE,
)


def at(said_on: date, unit: Unit, by: int) -> Span | None:
    """The unit that is ``by`` units from now."""
    day = shifted(said_on, unit, by)
    return Span(unit, day) if day else None


def ago(match: re.Match[str], said_on: date) -> Span | None:
    """vor zwei Wochen, il y a 3 jours, due anni fa, 两年前."""
    written, unit = match["n"], UNITS[match["unit"].lower()]
    count = int(written) if written.isdecimal() else NUMBERS[written.lower()]
    span = at(said_on, unit, -count)
    return Span("day", span.day) if span and unit == "week" else span


def last_weekday(match: re.Match[str], said_on: date) -> Span | None:
    """letzten Freitag, vendredi dernier: the latest one."""
    wanted = WEEKDAYS[(match["weekday"] or match["after"]).lower()]
    return at(said_on, "day", -((said_on.weekday() - wanted - 1) % 7 + 1))


def fixed(match: re.Match[str], said_on: date) -> Span | None:
    """gestern, le mois dernier, 来年: phrases from the table."""
    return at(said_on, *PHRASES[match[0].lower().replace("’", "'")])


Reading = Callable[[re.Match[str], date], Span | None]


def always(unit: Unit, by: int) -> Reading:
    """A reading that ignores the match."""
    return lambda match, said_on: at(said_on, unit, by)


def week_and_day(weeks: int) -> Reading:
    """上周五, 先週の金曜日: a day of the calendar week that is ``weeks`` from now."""

    def read(match: re.Match[str], said_on: date) -> Span | None:
        day = on_weekday(said_on, WEEKDAYS[match["weekday"]], weeks)
        return Span("day", day) if day else None

    return read


def of_weeks(dates: Dates) -> Iterator[tuple[re.Pattern[str], Reading]]:
    """Patterns for days counted from another week."""
    days = spelt(chain(*(names.split() for names in dates.weekdays)))
    for weeks, patterns in dates.week_and_day.items():
        phrase = rf"(?:{either(patterns)})(?P<weekday>{days})(?:{either(dates.weekday_tail)})?"
        yield re.compile(phrase), week_and_day(int(weeks))


def unsure(dates: Dates) -> Iterator[tuple[re.Pattern[str], Reading]]:
    """Ambiguous phrases together with the neighbours that make them unambiguous."""
    for means, patterns in dates.patterns.items():
        yield re.compile(rf"{OPEN}(?:{either(patterns)}){CLOSE}", re.IGNORECASE), always(*offset(means))


RULES: tuple[tuple[re.Pattern[str], Reading], ...] = (
    *(rule for pack in PACKS for rule in of_weeks(pack.dates)),
    *((pattern, ago) for pattern in AGO),
    (LAST_WEEKDAY, last_weekday),
    (FIXED, fixed),
    *(rule for pack in PACKS for rule in unsure(pack.dates)),
)


def beside(phrase: str, span: Span) -> str:
    gap = "" if is_cjk(phrase[-1]) else " "
    return f"{phrase}{gap}({span.iso()})"


def claim(phrases: Phrases, said_on: date) -> None:
    """Claim the phrases of these languages, each with its ISO date beside it."""

    def reader(read: Reading) -> Callable[[re.Match[str]], Writing | None]:
        def writing(match: re.Match[str]) -> Writing | None:
            span = read(match, said_on)
            return (lambda before: beside(match[0], span)) if span else None

        return writing

    for pattern, read in RULES:
        phrases.claim(pattern, reader(read))
