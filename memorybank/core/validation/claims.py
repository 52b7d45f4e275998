"""Extract the literal claims of a line: numbers, dates, identifiers, links, addresses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from memorybank.core.validation import written_dates as dates
from memorybank.core.validation.evidence import (
    CLOCK_TIME,
    EMAIL,
    URL,
    Evidence,
    clock_times,
    normalized,
    normalized_link,
)
from memorybank.core.validation.numbers import CLAIMED_VALUES_BY_WORD, NUMBER, readings, scaled
from memorybank.core.validation.written_dates import WrittenDate, named_months
from memorybank.language import alternation, collect

_LETTER = "A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿ"  # scripts that write identifiers; a number beside 日 or 개 is a number
_WORD_CHARACTER = f"[{_LETTER}0-9_]"
_RUN = re.compile(rf"{_WORD_CHARACTER}+(?:[-./:#+@_'’,&]{_WORD_CHARACTER}+)*")
_PATH = re.compile(r"(?<![\w/.~])(?:~|\.{1,2})?/[\w.@+%-]+(?:/[\w.@+%-]*)*|(?<!\w)[a-zA-Z]:\\[\w\\.-]+")
_TICKET = re.compile(r"[A-Z][A-Z0-9]+-\d+")
_NUMERIC = re.compile(r"[\d.,:/'’&+#-]+")
_VERSION = re.compile(r"(?:v|ver\.?)(\d++(?:\.\d++)*)|(?<!\d)(\d++(?:\.\d++){2,})", re.I)
_UNIT = re.compile(rf"({NUMBER.pattern.replace(chr(92) + '1', '[,.]')})([{_LETTER}]+)")
_ORDINAL = re.compile(alternation(collect(lambda pack: pack.numbers.endings)), re.I)
_PIECES = re.compile(rf"[{_LETTER}]+|\d+|[^{_LETTER}\d]+")
_ABBREVIATION = re.compile(rf"[{_LETTER}]{{1,2}}(?:\.[{_LETTER}]{{1,2}})+")
_NUMBER_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")

DATE_CLAIM, QUANTITY_CLAIM, IDENTIFIER_CLAIM, LINK_CLAIM, ADDRESS_CLAIM = (
    "a date",
    "a number",
    "an identifier",
    "a link",
    "an address",
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a line.

    It is supported if any of ``values``, ``dates``, ``link``, ``times`` or ``pattern`` is found, or if all ``parts``
    are supported.
    """

    what: str
    values: frozenset[str] = frozenset()
    dates: tuple[WrittenDate, ...] = ()
    link: str = ""
    times: frozenset[str] = frozenset()
    pattern: str = ""
    parts: tuple["Claim", ...] = field(default=())

    def supported(self, evidence: Sequence[Evidence]) -> bool:
        """Whether the sources together support it."""
        if any(self._in(source) for source in evidence) or self._year_elsewhere(evidence):
            return True
        return bool(self.parts) and all(part.supported(evidence) for part in self.parts)

    def _in(self, evidence: Evidence) -> bool:
        return (
            not self.values.isdisjoint(evidence.numbers)
            or not self.times.isdisjoint(evidence.times)
            or any(date.states(claimed) for date in evidence.dates for claimed in self.dates)
            or (bool(self.link) and self.link in evidence.links)
            or (bool(self.pattern) and re.search(self.pattern, evidence.text) is not None)
        )

    def _year_elsewhere(self, evidence: Sequence[Evidence]) -> bool:
        """“7 May” or “in May” in one cited source, and 2023 in its date or in another, make 7 May 2023 or May 2023."""
        dates = [date for source in evidence for date in source.dates]
        years = {date.year for date in dates if date.year}
        if any(date.year and date.day is None for date in self.dates):
            dates += [WrittenDate(None, month, None) for source in evidence for month in named_months(source.text)]
        completed = [date._replace(year=year) for date in dates if date.year is None for year in years]
        return any(date.states(claimed) for date in completed for claimed in self.dates)


def claims(text: str) -> Iterator[Claim]:
    """All claims of ``text``: longer ones first, and the text that they cover is not read again."""
    text = _foldable(normalized(text))
    for pattern, what in ((URL, LINK_CLAIM), (EMAIL, ADDRESS_CLAIM)):
        yield from (Claim(what, link=normalized_link(match[0])) for match in pattern.finditer(text))
        text = pattern.sub(" ", text)
    yield from (Claim(IDENTIFIER_CLAIM, pattern=_literal(match[0].rstrip("."))) for match in _PATH.finditer(text))
    text = _PATH.sub(" ", text)
    mentions = dates.mentions(text.casefold())
    yield from (Claim(DATE_CLAIM, dates=mention.readings) for mention in mentions)
    text = dates.without(mentions, text)
    yield from (Claim(QUANTITY_CLAIM, times=frozenset(clock_times(match)[:2])) for match in CLOCK_TIME.finditer(text))
    yield from _tokens(CLOCK_TIME.sub(" ; ", text))


def _foldable(text: str) -> str:
    """``text``, or its casefolded form if casefolding changes offsets (ß); its ticket ids then lose their capitals."""
    folded = text.casefold()
    return text if len(folded) == len(text) else folded


def _tokens(text: str) -> Iterator[Claim]:
    """Claims of the rest: numbers with spaces between their groups, then runs, then number words."""
    for match in reversed([match for match in NUMBER.finditer(text) if match[1] == " "]):
        if text[: match.start()].endswith((".", ",")):  # "1.2.3 300 users" is a version and a number
            continue
        parts = tuple(_number(digits) for digits in match[0].split())
        yield Claim(QUANTITY_CLAIM, values=readings(match[0]), parts=parts)
        text = f"{text[: match.start()]} ; {text[match.end() :]}"
    for match in _RUN.finditer(text):
        yield from _run(match[0])
    for match in _NUMBER_WORD.finditer(text):
        yield from _word(match[0].casefold())


def _word(word: str) -> Iterator[Claim]:
    if word in CLAIMED_VALUES_BY_WORD:
        yield Claim(QUANTITY_CLAIM, values=frozenset(CLAIMED_VALUES_BY_WORD[word]), pattern=_literal(word))


def _run(run: str) -> Iterator[Claim]:
    """Claims of one run of characters without white space."""
    if not any(character.isdigit() for character in run):
        yield from _plain_run(run)
    elif _NUMERIC.fullmatch(run):
        yield from _numeric_run(run)
    else:
        yield _mixed_run(run)


def _plain_run(run: str) -> Iterator[Claim]:
    """``settings.py`` and ``snake_case`` are identifiers; ``and/or``, ``z.B`` and ``well-known`` are words."""
    for piece in re.split(r"[-/:+#@'’,&]", run):
        if ("_" in piece.strip("_") or "." in piece) and not _ABBREVIATION.fullmatch(piece):
            yield Claim(IDENTIFIER_CLAIM, pattern=_literal(piece))


def _numeric_run(run: str) -> Iterator[Claim]:
    """``24/7`` is two numbers, ``2.1.3`` a version, ``2.1.3+45`` one with its build, ``1.234.567`` a number."""
    for piece in re.split(r"[-/:+#&]", run):
        if _VERSION.fullmatch(piece):
            yield Claim(IDENTIFIER_CLAIM, values=readings(piece), pattern=_version(piece))
        else:
            yield from (_number(match[0]) for match in NUMBER.finditer(piece))


def _number(written: str) -> Claim:
    return Claim(QUANTITY_CLAIM, values=readings(written))


def _mixed_run(run: str) -> Claim:
    """Letters and digits: a ticket, a version, a model name, or a number with its unit."""
    unit = _UNIT.fullmatch(run)
    if unit:
        return _with_unit(unit[1], unit[unit.lastindex or 0])
    if _VERSION.fullmatch(run):
        return Claim(IDENTIFIER_CLAIM, pattern=_version(run))
    pieces = [piece for piece in re.split(r"[-/:+#@'’,&]", run) if piece]
    if len(pieces) == 1 or _TICKET.fullmatch(run):
        return Claim(IDENTIFIER_CLAIM, pattern=_flexible(run))
    parts = tuple(claim for piece in pieces for claim in _run(piece))
    return Claim(IDENTIFIER_CLAIM, pattern=_flexible(run), parts=parts)


def _with_unit(number: str, unit: str) -> Claim:
    """``16GB`` is supported by “16 GB” or “16 gigabytes”, ``5k`` by 5000, ``7th`` by 7."""
    values = scaled(number, unit)
    days: tuple[WrittenDate, ...] = ()
    if _ORDINAL.fullmatch(unit):
        values, days = readings(number), _day(number)
    initial = "" if unit.casefold() == "k" else rf"|{_flexible(number)}[\s-]?{re.escape(unit[0].casefold())}[^\W\d_]+"
    return Claim(QUANTITY_CLAIM, values=values, dates=days, pattern=_flexible(number + unit) + initial)


def _day(number: str) -> tuple[WrittenDate, ...]:
    """“the 7th” is supported by any date with that day."""
    return (WrittenDate(None, None, int(number)),) if number.isdigit() and len(number) < 3 else ()


def _version(written: str) -> str:
    """``v2.1`` is supported by “v2.1” and “version 2.1”; bare ``2.1.3`` by any of these and by itself."""
    version = _VERSION.fullmatch(written)
    digits = (version[1] or version[2]) if version else written
    optional = "" if version and version[1] and "." not in digits else "?"
    return rf"(?<![{_LETTER}0-9.])(?:(?:v|ver\.?|version)[\s-]?){optional}{re.escape(digits)}(?!\.?\d)"


def _literal(token: str) -> str:
    """A pattern for ``token`` as a whole in casefolded text."""
    folded = token.casefold()
    before = rf"(?<!{_WORD_CHARACTER})" if folded[0].isalnum() else ""
    return rf"{before}{re.escape(folded)}(?!{_WORD_CHARACTER})"


def _flexible(token: str) -> str:
    """Like :func:`_literal`, but letters and digits may be joined or separated by a space or hyphen."""
    pieces = _PIECES.findall(token.casefold())
    patterns = [re.escape(piece) if piece.strip("-_") else r"[\s_-]?" for piece in pieces]
    joined = "".join(
        pattern if index == 0 or r"[\s_-]?" in (pattern, patterns[index - 1]) else r"[\s_-]?" + pattern
        for index, pattern in enumerate(patterns)
    )
    return rf"(?<![{_LETTER}0-9]){joined}(?![{_LETTER}0-9])"
