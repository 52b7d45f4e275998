"""Check that a date in a fact is one that its phrase can mean (English); a part of ``benchmarks.fidelity``."""

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta

from .aligning import spoken
from .idle import RELATIVE, SOUNDS

MONTHS = [calendar.month_name[number].casefold() for number in range(1, 13)]
WEEKDAYS = [name.casefold() for name in calendar.day_name]
NUMBERS = {word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())}
NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30}
DAYS_AWAY = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "day after tomorrow": 2, "tomorrow": 1}
WEEKS = {"week before last": -14, "week after next": 14, "last week": 0, "next week": 0}

_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"(?:(?:\d{{1,2}} )?(?:{_MONTH})|spring|summer|autumn|fall) \d{{4}}\b|(?<![\d-])(?:19|20)\d\d(?![\d-])"
)
_TURNED = re.compile(
    rf"(?:this past |this coming |this |last |next )(?P<name>{_MONTH}|spring|summer|autumn|fall|weekend|month|year|\w+)\b"
)
_WEEKDAY = re.compile(rf"\b({'|'.join(name[:3] for name in WEEKDAYS)})(?:[a-z]*day|r?s)?\b")
_PHRASE = re.compile(rf"\b(?:{RELATIVE.pattern})\b")
_COUNTED = re.compile(rf"(?P<n>\d+|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}) (?P<unit>day|week|month|year)")


def misdated(fact: str, said: str, said_on: date) -> list[str]:
    """One violation for each date of the fact that its source neither has nor means, said on that day."""
    low = " ".join(word.text for word in spoken(said) if word.text not in SOUNDS)
    meant = {known for phrase in _PHRASE.finditer(low) for known in _meanings(phrase[0], said_on)}
    return [
        "another date"
        for wrong_date in _DATE.findall(fact.casefold())
        if wrong_date not in low and wrong_date not in meant
    ]


def _meanings(phrase: str, said_on: date) -> Iterator[str]:
    """The dates that may stand for a phrase: days, months, seasons, years."""
    near = next((by for known, by in {**DAYS_AWAY, **WEEKS}.items() if known in phrase), None)
    if day := _WEEKDAY.search(phrase):
        wanted = [name[:3] for name in WEEKDAYS].index(day[1])
        reach = range(-7, 0) if phrase.startswith("last ") else range(-13, 14)
        yield from (_day(at) for by in reach if (at := said_on + timedelta(by)).weekday() == wanted)
    elif counted := _COUNTED.search(phrase):
        number = int(counted["n"]) if counted["n"].isdecimal() else NUMBERS[counted["n"]]
        yield from _moved(said_on, counted["unit"], -number if phrase.endswith("ago") else number)
    elif (turned := _TURNED.search(phrase)) and turned["name"] not in ("week", "night"):
        yield from _turned(phrase, turned["name"], said_on)
    elif near is not None:
        yield _day(said_on + timedelta(near))


def _turned(phrase: str, name: str, said_on: date) -> Iterator[str]:
    way = -1 if phrase.startswith(("last", "this past")) else int(not phrase.startswith("this "))
    if name == "weekend":
        yield _day(said_on + timedelta(5 - said_on.weekday() + 7 * way))
    elif name in ("month", "year"):
        yield from _moved(said_on, name, way)
    else:  # its year depends on whether it has begun
        yield from (f"{name} {said_on.year + by}" for by in {0, way})


def _moved(said_on: date, unit: str, by: int) -> Iterator[str]:
    if unit in ("day", "week"):
        yield _day(said_on + timedelta(by * (7 if unit == "week" else 1)))
        return
    months = said_on.year * 12 + said_on.month - 1 + by * (12 if unit == "year" else 1)
    yield f"{MONTHS[months % 12]} {months // 12}"
    if unit == "year":
        yield str(months // 12)


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"
