"""Find coordinates, messenger links, telephone numbers spelt out in words, and sort codes."""

import re
from collections.abc import Iterator

from memorybank.language import alternation, collect_for_masking, packs
from memorybank.safety.redaction.spans import SecretSpan

#: At least this many number words in a row that begin with a zero or a plus are a telephone number.
MIN_NUMBER_WORDS = 5

_DEGREES = r"-?\d{1,3}\.\d{5,12}"
_COORDINATES = re.compile(
    rf"(?<![\w.=-])(?P<decimal>{_DEGREES}(?:,\s?|\s?;\s?){_DEGREES})(?!\w|\.\d|\s?[%€$])"
    rf"|(?<=[?&/@=])(?P<link>{_DEGREES},{_DEGREES})"
    rf"|\blat\w{{0,5}}\W{{1,3}}(?P<named>{_DEGREES}\W{{1,3}}(?:lng|lon)\w{{0,6}}\W{{1,3}}{_DEGREES})"
    r"|(?P<signed>[NS]?\s?\d{1,2}°\s?\d{1,2}(?:[.,′'’]\s?\d{1,6})?[″\"′'’]{0,2}\s?[NS]?,?\s?[EWO]?\s?\d{1,3}°\s?\d{1,2}"
    r"(?:[.,′'’]\s?\d{1,6})?[″\"′'’]{0,2}\s?[EWO]?)",
    re.I,
)
_MESSENGER = re.compile(
    r"(?:wa\.me/|whatsapp\.com/send/?\?phone=|t\.me/|signal\.me/#p/)(?P<value>\+?\d{7,15})(?!\d)", re.I
)
_SORT_CODE = re.compile(
    r"\b(?:sort[ -]?codes?(?:'s)?|sc|blz)\b(?:\sis)?[\s:=]{1,3}(?P<value>\d\d[- ]?\d\d[- ]?\d\d(?:\d\d)?)(?!\d)", re.I
)
_NUMBER_WORDS = alternation(
    word
    for pack in packs()
    if pack.spaced
    for entry in (*pack.numbers.ones, *pack.numbers.tens)
    for word in entry.split()
)
_ZERO = alternation(collect_for_masking(lambda pack: pack.personal.spoken_digits))
_SPOKEN = rf"(?:{_NUMBER_WORDS}|{_ZERO})(?:[ ,-]{{1,2}}|(?!\w))"
_IN_WORDS = re.compile(rf"(?<!\w)(?P<value>(?:{_ZERO})[ ,-]{{1,2}}(?:{_SPOKEN}){{{MIN_NUMBER_WORDS - 1},24}})", re.I)


def find(text: str) -> Iterator[SecretSpan]:
    for match in _COORDINATES.finditer(text):
        yield SecretSpan(*match.span(match.lastgroup or 0), "address")
    yield from (SecretSpan(*match.span("value"), "phone number") for match in _MESSENGER.finditer(text))
    yield from (SecretSpan(*match.span("value"), "iban") for match in _SORT_CODE.finditer(text))
    yield from (SecretSpan(*match.span("value"), "phone number") for match in _IN_WORDS.finditer(text))
