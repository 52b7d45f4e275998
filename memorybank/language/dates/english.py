"""Find English date phrases with strict patterns, and write the date beside or instead of the phrase."""

import re
from collections.abc import Callable
from datetime import date

from memorybank.language import alternation, fill_in, meanings, pack
from memorybank.language.dates.date_spans import MONTHS, CalendarSpan, Unit, format_date, on_weekday, shifted
from memorybank.language.dates.phrases import Phrases, PhraseWriter
from memorybank.language.prefilter import Patterns

ENGLISH_WORDS = pack("en").dates
WEEKDAYS = tuple(names.split()[0].capitalize() for names in ENGLISH_WORDS.weekdays)
NUMBERS = {word: int(number) for word, number in meanings([ENGLISH_WORDS.numbers]).items()}
TENS = " ".join(pack("en").numbers.tens).split()
DAY_OFFSETS = {phrase: int(offset.split()[0]) for phrase, offset in meanings([ENGLISH_WORDS.phrases]).items()}
TURN_OFFSETS = {word: int(by) for word, by in meanings([ENGLISH_WORDS.turns]).items()}
SEASONS = {name: int(month) for name, month in meanings([ENGLISH_WORDS.seasons]).items()}
PREPOSITIONS = frozenset(ENGLISH_WORDS.grammar["preposition"])

# Not inside an identifier, path or address. A phrase attached to another phrase stays attached after that one gets its
# date.
PHRASE_START = r"(?<![\w/@#$-])(?<!\w\.)(?<!\d\))(?<!\d\)\.)"
PHRASE_END = r"(?![\w/@=-]|\.\w)"
POSSESSIVE = r"(?>(?P<own>['’]s)?)"

PATTERN_PARTS = {
    "number": rf"(?P<n>\d{{1,3}}|{alternation(NUMBERS)})",
    "units": rf"(?P<unit>{alternation(ENGLISH_WORDS.units)})s?",
    "turn": rf"(?P<turn>{alternation(TURN_OFFSETS)})",
    "days": alternation(DAY_OFFSETS),
    "full": alternation(WEEKDAYS),
    "weekday": alternation(name for names in ENGLISH_WORDS.weekdays for name in names.split()),
    "month": alternation(MONTHS),
    "season": alternation(SEASONS),
    "entire": alternation(ENGLISH_WORDS.grammar["entire"]),
    "whole": "".join(rf"(?<!\b{word} )" for word in (*ENGLISH_WORDS.grammar["before"], *NUMBERS, *TENS)),
} | {name: alternation(ENGLISH_WORDS.grammar[name]) for name in ("no_determiner", "part")}


def pattern(name: str) -> str:
    """The pack's pattern for this reading, with its parts filled in."""
    return fill_in(alternation(ENGLISH_WORDS.grammar[name]), PATTERN_PARTS)


def compiled(name: str) -> re.Pattern[str]:
    """The pattern with its boundaries, ignoring case."""
    return re.compile(PHRASE_START + pattern(name) + POSSESSIVE + PHRASE_END, re.IGNORECASE)


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
    day = shifted(said_on, "day", DAY_OFFSETS[match["day"].lower()])
    if day is None:
        return None
    return f"on the {match['part'].lower()} of {format_date(day)}" if match["part"] else f"on {format_date(day)}"


def last_night(match: re.Match[str], said_on: date) -> str | None:
    """The night that began the day before."""
    day = shifted(said_on, "day", -1)
    return f"on the night of {format_date(day)}" if day else None


def turned_unit(match: re.Match[str], said_on: date) -> str | None:
    """last, this or next week, month or year."""
    unit, by = unit_of(match), TURN_OFFSETS[match["turn"].lower()]
    if unit == "day" or (by == 0 and unit == "week"):
        return None
    day = shifted(said_on, unit, by)
    if day is None:
        return None
    if unit == "week":
        return f"in the week {'before' if by < 0 else 'after'} {format_date(said_on)}"
    return "in " + written(CalendarSpan(unit, day))


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
    return f"on {WEEKDAYS[wanted]} {format_date(day)}" if day else None


def weekday_of_week(match: re.Match[str], said_on: date) -> str | None:
    """Friday next week, Monday of last week: a day of a neighbouring calendar week."""
    wanted = next(n for n, name in enumerate(WEEKDAYS) if name == match["weekday"].capitalize())
    day = on_weekday(said_on, wanted, TURN_OFFSETS[match["turn"].lower()])
    return f"on {WEEKDAYS[wanted]} {format_date(day)}" if day else None


def turned_weekend(match: re.Match[str], said_on: date) -> str | None:
    """The Saturday of the last, this or next weekend."""
    by = TURN_OFFSETS[match["turn"].lower()]
    if by < 0 and said_on.weekday() > 5:
        return None
    day = on_weekday(said_on, 5, by)
    return f"on the weekend of {format_date(day)}" if day else None


def turned_season(match: re.Match[str], said_on: date) -> str | None:
    """last summer, next spring, never the current one. Winter spans two years and is left as it is."""
    turn, season = TURN_OFFSETS[match["turn"].lower()], match["season"].lower()
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
        return f"on {format_date(day)}"
    vague: dict[str, Unit] = {"week": "day", "month": "month", "year": "month" if counted(match) == 1 else "year"}
    return "around " + written(CalendarSpan(vague[unit], day))


def ahead(match: re.Match[str], said_on: date) -> str | None:
    """in three days, a week from now."""
    unit = unit_of(match)
    day = shifted(said_on, unit, counted(match))
    if day is None:
        return None
    if unit == "day":
        return f"on {format_date(day)}"
    return "around " + written(CalendarSpan("day" if unit == "week" else unit, day))


def before_last(match: re.Match[str], said_on: date) -> str | None:
    """the week before last, the year after next."""
    unit = unit_of(match)
    day = shifted(said_on, unit, -2 if match["way"].lower() == "before last" else 2)
    if day is None or unit == "day":
        return None
    return f"in the week around {format_date(day)}" if unit == "week" else "in " + written(CalendarSpan(unit, day))


def written(span: CalendarSpan) -> str:
    """A span in English: 7 May 2023, May 2023, 2023."""
    words = format_date(span.day).split()
    return " ".join(words[{"day": 0, "week": 0, "month": 1, "year": 2}[span.unit] :])


EnglishReading = Callable[[re.Match[str], date], str | None]
ENGLISH_READINGS: tuple[EnglishReading, ...] = (
    near_day, before_last, last_night, weekday_of_week, turned_weekday, turned_weekend, turned_season, turned_month,
    turned_unit, ago, ahead,
)  # fmt: skip
LEAD = re.compile(rf"{PHRASE_START}{pattern('future')}[^.!?\n]{{0,60}}\Z", re.IGNORECASE)
ENGLISH_RULES: Patterns[tuple[EnglishReading, re.Pattern[str] | None]] = Patterns(
    [
        *((compiled(read.__name__), (read, None)) for read in ENGLISH_READINGS),
        (compiled("in_future"), (ahead, LEAD)),  # "is due in three days", never "we built it in three days"
    ]
)
REPORTED = re.compile(rf"\b{pattern('reported')}\b[^.!?\n]*\Z", re.IGNORECASE)
#: How far back an opening quotation mark is looked for.
MAX_QUOTATION_CHARACTERS = 300
SUBJECT_VERB = re.compile(pattern("verb"))
PREPOSITION, LEADING = re.compile(f"^{pattern('adverbial')}"), re.compile(f"^{pattern('leading')}")


def with_date(match: re.Match[str], date_words: str, before: str, replace: bool) -> str:
    """The phrase with its date beside it, or the date in the grammatical case of the phrase."""
    phrase = match[0]
    if not replace or match["own"]:
        return f"{phrase} ({LEADING.sub('', date_words)})"
    words_before = before.split()
    if words_before and words_before[-1].lower() in PREPOSITIONS and before[-1] == " ":
        return PREPOSITION.sub("", date_words)
    # "Last week was wild": the phrase is the subject, not an adverb.
    if (not words_before or before.rstrip()[-1] in ".!?:;—–-") and SUBJECT_VERB.match(match.string, match.end()):
        date_words = PREPOSITION.sub("", date_words)
    return date_words[0].upper() + date_words[1:] if phrase[0].isupper() else date_words


def is_quoted(match: re.Match[str]) -> bool:
    """Whether the phrase stands in quotation marks or in hypothetical speech: then it is not relative to this day."""
    before = match.string[max(0, match.start() - MAX_QUOTATION_CHARACTERS) : match.start()]
    within = before.count('"') % 2 == 1 or before.rfind("“") > before.rfind("”")
    return within or REPORTED.search(before) is not None


def claim(phrases: Phrases, said_on: date, *, replace: bool) -> None:
    """Claim the English phrases; see the package docstring."""

    def reader(read: EnglishReading, lead: re.Pattern[str] | None) -> Callable[[re.Match[str]], PhraseWriter | None]:
        def writing(match: re.Match[str]) -> PhraseWriter | None:
            if (replace and is_quoted(match)) or not (words := read(match, said_on)):
                return None
            return lambda before: (
                with_date(match, words, before, replace) if not lead or lead.search(before) else match[0]
            )

        return writing

    for phrase, (read, lead) in ENGLISH_RULES.possible(phrases.text):
        phrases.claim(phrase, reader(read, lead))
