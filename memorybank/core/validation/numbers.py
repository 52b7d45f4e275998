"""Read written numbers as values: ``1,200`` = ``1.200`` = ``1 200`` = 1200, ``two`` = 2.

A value is a string such as "1200" or "3.5". Where the notation is ambiguous (``1.200``), all readings count.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain, product

from memorybank.language import Words, alternation, collect, is_cjk, meanings, packs
from memorybank.language.sections import NumberWords

# Grouped thousands (1,200.50), or digits with an optional fraction.
NUMBER = re.compile(r"\d{1,3}(?:([,.'’_ ])\d{3})(?:\1\d{3})*(?!\d)(?:[.,]\d+(?!\d))?|\d+(?:[.,]\d+)?")
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"^\d{1,3}(?:([,.'’_ ])\d{3})(?:\1\d{3})*(?:[.,](\d+))?$")

_SCALES = {word: int(value) for word, value in meanings(pack.numbers.scales for pack in packs()).items()}
# Like NUMBER, with a bounded length: a longer match would be tried again from each digit.
_WRITTEN = r"\d{1,3}[,.'’_ ]\d{3}(?>(?:[,.]\d{3}){0,8})(?!\d)(?:[.,]\d{1,20}+(?!\d))?|\d{1,40}+(?:[.,]\d{1,20}+)?"
SCALED = re.compile(rf"({_WRITTEN})[ -]?({alternation(_SCALES)})(?![a-zà-ÿ0-9])", re.I)


def _table() -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    for numbers in (pack.numbers for pack in packs()):
        for word, value in chain(
            _numbered_words(numbers.ones, 1), _numbered_words(numbers.tens, 10), _compounds(numbers)
        ):
            table.setdefault(word, set()).add(str(value))
    return table


def _numbered_words(words: Words, step: int) -> Iterator[tuple[str, int]]:
    return ((word, place * step) for place, names in enumerate(words, start=1) for word in names.split())


def _compounds(numbers: NumberWords) -> Iterator[tuple[str, int]]:
    """Tens and ones as one word, in languages that join them: 21 is "twenty-one" and "twenty one"."""
    for form, ten, one in product(numbers.compounds, range(2, 10), range(1, 10)):
        tens, ones = numbers.tens[ten - 1].split()[0], numbers.ones[one - 1].split()[0]
        yield form.format(tens=tens, ones=ones), ten * 10 + one


VALUES_BY_WORD = _table()
_AMBIGUOUS = frozenset(collect(lambda pack: pack.numbers.ambiguous))
CLAIMED_VALUES_BY_WORD = {
    word: values for word, values in VALUES_BY_WORD.items() if not is_cjk(word) and word not in _AMBIGUOUS
}

_LATIN_WORD = re.compile(rf"(?<!\w)(?:{alternation(word for word in VALUES_BY_WORD if not is_cjk(word))})(?!\w)")
# Digits that are part of a name or a version, and are not a number.
_NO_NUMBER = re.compile(r"(?<![a-zà-ÿͰ-ӿ0-9_.])(?:[a-zà-ÿͰ-ӿ_]++\d[a-zà-ÿͰ-ӿ0-9_]*(?:\.\d+)*|\d+(?:\.\d+){2,}(?!,?\d))")
_CJK_NUMERAL = re.compile(alternation(word for word in VALUES_BY_WORD if is_cjk(word)))


def readings(written: str) -> frozenset[str]:
    """Every value that one written number may mean."""
    values = set()
    grouped = _GROUPED.match(written)
    if grouped and not written.startswith("0"):
        fraction = grouped[2]
        whole = written[: -len(fraction) - 1] if fraction else written
        values.add(_as_value("".join(_DIGITS.findall(whole)), fraction or ""))
    parts = re.split(r"[.,]", written)
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        # Kept as written if ambiguous: 1,200 may be 1.200, but not 1.2.
        values.add(f"{_as_value(parts[0])}.{parts[1]}" if grouped else _as_value(*parts))
    if len(parts) == 1 and written.isdigit():
        values.add(_as_value(written))
    return frozenset(values)


def _as_value(whole: str, fraction: str = "") -> str:
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def scaled(written: str, scale: str) -> frozenset[str]:
    """The values of ``1.2`` ``million``."""
    factor = _SCALES.get(scale.casefold())
    if not factor:
        return frozenset()
    return frozenset(_as_value(*_times(value, factor)) for value in readings(written) if len(value) < 20)


def _times(value: str, factor: int) -> list[str]:
    return format(Decimal(value) * factor, "f").split(".")


def values(text: str) -> frozenset[str]:
    """Every value stated in ``text`` (casefolded), in digits or words; not those inside ``v2.1.3`` or ``x3f9``."""
    text = _NO_NUMBER.sub(" ; ", text)
    stated: set[str] = set()
    for match in NUMBER.finditer(text):
        stated |= readings(match[0])
        if match[1] == " " or match[0].count(".") + match[0].count(",") > 1:
            stated.update(_as_value(digits) for digits in _DIGITS.findall(match[0]))
    for match in SCALED.finditer(text):
        stated |= scaled(match[1], match[2])
    for match in _LATIN_WORD.finditer(text):
        stated |= VALUES_BY_WORD[match[0]]
    for match in _CJK_NUMERAL.finditer(text):
        stated |= VALUES_BY_WORD.get(match[0], set())
    return frozenset(stated)
