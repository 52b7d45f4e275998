"""Find English date phrases with strict patterns, and write the date beside or instead of the phrase."""

import re
from collections.abc import Callable
from datetime import date

from memorybank.language import either, filled, meaning, pack
from memorybank.language.dates.date_spans import MONTHS, Span, Unit, on_weekday, shifted, spell
from memorybank.language.dates.phrases import Phrases, Writing

WORDS = pack("en").dates
WEEKDAYS = tuple(names.split()[0].capitalize() for names in WORDS.weekdays)
NUMBERS = {word: int(number) for word, number in meaning([WORDS.numbers]).items()}
TENS = " ".join(pack("en").numbers.tens).split()
NEAR = {phrase: int(offset.split()[0]) for phrase, offset in meaning([WORDS.phrases]).items()}
TURN = {word: int(by) for word, by in meaning([WORDS.turns]).items()}
SEASONS = {name: int(month) for name, month in meaning([WORDS.seasons]).items()}
PREPOSITIONS = frozenset(WORDS.grammar["preposition"])

# Not inside an identifier, path or address. A phrase attached to another phrase stays attached after that one gets its
# date.
OPEN = r"(?<![\w/@#$-])(?<!\w\.)(?<!\d\))(?<!\d\)\.)"
CLOSE = r"(?![\w/@=-]|\.\w)"
POSSESSIVE = r"(?>(?P<own>['’]s)?)"

PARTS = {
    "number": rf"(?P<n>\d{{1,3}}|{either(NUMBERS)})",
    "units": rf"(?P<unit>{either(WORDS.units)})s?",
    "turn": rf"(?P<turn>{either(TURN)})",
    "days": either(NEAR),
    "full": either(WEEKDAYS),
    "weekday": either(name for names in WORDS.weekdays for name in names.split()),
    "month": either(MONTHS),
    "season": either(SEASONS),
    "entire": either(WORDS.grammar["entire"]),
    "whole": "".join(rf"(?<!\b{word} )" for word in (*WORDS.grammar["before"], *NUMBERS, *TENS)),
} | {name: either(WORDS.grammar[name]) for name in ("told", "part")}


def pattern(name: str) -> str:
    """The pack's pattern for this reading, with its parts filled in."""
    return filled(either(WORDS.grammar[name]), PARTS)


def compiled(name: str) -> re.Pattern[str]:
    """The pattern with its boundaries, ignoring case."""
    return re.compile(OPEN + pattern(name) + POSSESSIVE + CLOSE, re.IGNORECASE)


def counted(match: re.Match[str]) -> int:
    """The number in a phrase, from digits or words."""
    written = match["n"].lower()
    return int(written) if written.isdecimal() else NUMBERS[written]


def unit_of(match: re.Match[str]) -> Unit:
    """The calendar unit in a phrase."""
    name: Unit = match["unit"].lower()  # type: ignore[assignment]
    return name


def near_day(match: re.Match[str], said_on: date) -> str | None:
    """yesterday, tomorrow, the day before yesterday and the day after tomorrow."""
    day = shifted(said_on, "day", NEAR[match["day"].lower()])
    if day is None:
        return None
    return f"on the {match['part'].lower()} of {spell(day)}" if match["part"] else f"on {spell(day)}"


def last_night(match: re.Match[str], said_on: date) -> str | None:
    """The night that began the day before."""
    day = shifted(said_on, "day", -1)
    return f"on the night of {spell(day)}" if day else None


def turned_unit(match: re.Match[str], said_on: date) -> str | None:
    """last, this or next week, month or year."""
    unit, by = unit_of(match), TURN[match["turn"].lower()]
    if unit == "day" or (by == 0 and unit == "week"):
        return None
    day = shifted(said_on, unit, by)
    if day is None:
        return None
    if unit == "week":
        return f"in the week {'before' if by < 0 else 'after'} {spell(said_on)}"
    return "in " + written(Span(unit, day))


def turned_weekday(match: re.Match[str], said_on: date) -> str | None:
    """last Friday is the latest one; next Friday is resolved only if all its readings agree."""
    wanted = next(n for n, name in enumerate(WEEKDAYS) if name[:3] == match["weekday"][:3].capitalize())
    turn = match["turn"].lower()
    short = match["weekday"].lower()[-3:] != "day"
    if short and (turn == "this" or match["weekday"].islower()):
        return None
    if turn in ("last", "this past"):
        day = shifted(said_on, "day", -((said_on.weekday() - wanted - 1) % 7 + 1))
    elif turn == "next" and wanted > said_on.weekday():
        return None
    else:
        day = on_weekday(said_on, wanted, 0 if turn == "this" else int(wanted <= said_on.weekday()))
    return f"on {WEEKDAYS[wanted]} {spell(day)}" if day else None


def weekday_of_week(match: re.Match[str], said_on: date) -> str | None:
    """Friday next week, Monday of last week: a day of a neighbouring calendar week."""
    wanted = next(n for n, name in enumerate(WEEKDAYS) if name == match["weekday"].capitalize())
    day = on_weekday(said_on, wanted, TURN[match["turn"].lower()])
    return f"on {WEEKDAYS[wanted]} {spell(day)}" if day else None


def turned_weekend(match: re.Match[str], said_on: date) -> str | None:
    """The Saturday of the last, this or next weekend."""
    by = TURN[match["turn"].lower()]
    if by < 0 and said_on.weekday() > 5:
        return None
    day = on_weekday(said_on, 5, by)
    return f"on the weekend of {spell(day)}" if day else None


def turned_season(match: re.Match[str], said_on: date) -> str | None:
    """last summer, next spring, never the current one. Winter spans two years and is left as it is."""
    turn, season = TURN[match["turn"].lower()], match["season"].lower()
    first = SEASONS[season]
    has_begun, is_over = said_on.month >= first, said_on.month > first + 2
    if turn < 0:
        return f"in {season} {said_on.year - int(not is_over)}"
    return f"in {season} {said_on.year + int(turn > 0 and has_begun)}"


def turned_month(match: re.Match[str], said_on: date) -> str | None:
    """last May, next March. Capitalised only, so that the verb "may" is not a month."""
    name = match["month"]
    if not name[0].isupper():
        return None
    month, turn = MONTHS.index(name.capitalize()) + 1, match["turn"].lower()
    later = month >= said_on.month if turn.startswith("last") else month > said_on.month
    year = said_on.year - int(later) if turn == "last" else said_on.year + int(not later)
    return f"in {name} {year}"


def ago(match: re.Match[str], said_on: date) -> str | None:
    """ "two days ago" is a date; "two weeks/months/years ago" is vague."""
    unit = unit_of(match)
    day = shifted(said_on, unit, -counted(match))
    if day is None:
        return None
    if unit == "day":
        return f"on {spell(day)}"
    vague: dict[str, Unit] = {"week": "day", "month": "month", "year": "month" if counted(match) == 1 else "year"}
    return "around " + written(Span(vague[unit], day))


def ahead(match: re.Match[str], said_on: date) -> str | None:
    """in three days, a week from now."""
    unit = unit_of(match)
    day = shifted(said_on, unit, counted(match))
    if day is None:
        return None
    if unit == "day":
        return f"on {spell(day)}"
    return "around " + written(Span("day" if unit == "week" else unit, day))


def before_last(match: re.Match[str], said_on: date) -> str | None:
    """the week before last, the year after next."""
    unit = unit_of(match)
    day = shifted(said_on, unit, -2 if match["way"].lower() == "before last" else 2)
    if day is None or unit == "day":
        return None
    return f"in the week around {spell(day)}" if unit == "week" else "in " + written(Span(unit, day))


def written(span: Span) -> str:
    """A span in English: 7 May 2023, May 2023, 2023."""
    words = spell(span.day).split()
    return " ".join(words[{"day": 0, "week": 0, "month": 1, "year": 2}[span.unit] :])


Reading = Callable[[re.Match[str], date], str | None]
READINGS: tuple[Reading, ...] = (
    near_day, before_last, last_night, weekday_of_week, turned_weekday, turned_weekend, turned_season, turned_month,
    turned_unit, ago, ahead,
)  # fmt: skip
RULES = tuple((compiled(read.__name__), read) for read in READINGS)
IN_FUTURE = compiled("in_future")
LEAD = re.compile(rf"{OPEN}{pattern('future')}[^.!?\n]{{0,60}}\Z", re.IGNORECASE)
REPORTED = re.compile(rf"\b{pattern('reported')}\b[^.!?\n]*\Z", re.IGNORECASE)
#: How far back an opening quotation mark is looked for.
REACH = 300
SUBJECT = re.compile(pattern("verb"))
PREPOSITION, LEADING = re.compile(f"^{pattern('adverbial')}"), re.compile(f"^{pattern('leading')}")


def put(match: re.Match[str], date_words: str, before: str, replace: bool) -> str:
    """The phrase with its date beside it, or the date in the grammatical case of the phrase."""
    phrase = match[0]
    if not replace or match["own"]:
        return f"{phrase} ({LEADING.sub('', date_words)})"
    words_before = before.split()
    if words_before and words_before[-1].lower() in PREPOSITIONS and before[-1] == " ":
        return PREPOSITION.sub("", date_words)
    # "Last week was wild": the phrase is the subject, not an adverb.
    if (not words_before or before.rstrip()[-1] in ".!?:;—–-") and SUBJECT.match(match.string, match.end()):
        date_words = PREPOSITION.sub("", date_words)
    return date_words[0].upper() + date_words[1:] if phrase[0].isupper() else date_words


def is_quoted(match: re.Match[str]) -> bool:
    """Whether the phrase stands in quotation marks or in hypothetical speech: then it is not relative to this day."""
    before = match.string[max(0, match.start() - REACH) : match.start()]
    within = before.count('"') % 2 == 1 or before.rfind("“") > before.rfind("”")
    return within or REPORTED.search(before) is not None


def claim(phrases: Phrases, said_on: date, *, replace: bool) -> None:
    """Claim the English phrases; see the package docstring."""

    def reader(read: Reading, lead: re.Pattern[str] | None = None) -> Callable[[re.Match[str]], Writing | None]:
        def writing(match: re.Match[str]) -> Writing | None:
            if (replace and is_quoted(match)) or not (words := read(match, said_on)):
                return None
            return lambda before: put(match, words, before, replace) if not lead or lead.search(before) else match[0]

        return writing

    for phrase, read in RULES:
        phrases.claim(phrase, reader(read))
    phrases.claim(IN_FUTURE, reader(ahead, LEAD))  # "is due in three days", never "we built it in three days"
