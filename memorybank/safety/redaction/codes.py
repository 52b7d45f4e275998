"""Find PINs and door codes: digits that another word announces."""

import re
from collections.abc import Iterable, Iterator

from memorybank.language import alternation, collect
from memorybank.language.prefilter import Patterns
from memorybank.safety.redaction.connectors import EQUALS, LINKS, SPOKEN_DIGITS, any_whole_words
from memorybank.safety.redaction.shapes import Shape, is_compound_name, shape
from memorybank.safety.redaction.spans import SecretSpan, before_numbers

#: Maximum distance, within one sentence, between the code, the word for it and what it opens.
MAX_CHARACTERS_BETWEEN = 90

_PIN = re.compile(any_whole_words(lambda pack: pack.secrets.pins), re.I)
_VALUE = r"(?P<value>\*?\d(?:[ -]?\d){3,9}[#*]?|\d{1,4}[A-Z]\d{1,4}|[A-Z]\d{3,6}[A-Z]?|\d{4,6}[A-Z])"
_PIN_END = r"(?!\s[a-z]{2,20}s\b|[a-z\d_%€$]|[.,:/-]\d|-\w)"
_DIGITS = re.compile(
    rf"(?:[^\d\n.!?。]{{0,60}}?(?P<sign>{LINKS}|#|[^\W\d]{{2}}(?=\s)|[^\W\dA-Za-z]{{2}}))?\s{{0,2}}{_VALUE}{_PIN_END}",
    re.I,
)
# A number with a unit is an amount, not a code.
_COUNTED_UNIT = (
    r"(?-i:[a-z]{2,20}s\b|(?:EUR|USD|GBP|CHF|[kmc]?m|k?g|[kMGT]B|[kM]?W|[ap]m|Uhr|Euro)\b)"
    r"|[€$£%年月日元円个個件人台回次]"
)
_CODE = re.compile(
    r"(?<![a-zA-Z\d_.,/#+$€£-])(?<!\d:)"
    r"(?P<value>[*#]?\d\*?(?:\d\*?){2,9}[#*]|[*#]?\d(?:[ *-]?\d){3,9}[#*]?"
    r"|\d{1,4}[A-Z]\d{2,4}|[A-Z]\d{4,6}[A-Z]?|\d{4,6}[A-Z])"
    rf"(?!\s?(?:{_COUNTED_UNIT})|[a-zA-Z\d_]|[.,:/-]\d)",
    re.I,
)
_LOCK_NAME, _CODE_NAME, _ENTER_VERB = (
    re.compile(any_whole_words(of), re.I)
    for of in (lambda pack: pack.secrets.places, lambda pack: pack.secrets.codes, lambda pack: pack.secrets.types)
)
# "Keypad on the dock: 4711", but not "lock timeout: 5000".
_FUNCTION_WORD = alternation(map(re.escape, collect(lambda pack: pack.words.function, spaced=True)))
_AT_PLACE = re.compile(
    rf"(?:{_LOCK_NAME.pattern})(?:{EQUALS}|(?: (?:{_FUNCTION_WORD}) [^\n.!?:\d]{{0,40}}?)?\s?[:：])\s?$", re.I
)
_SENTENCE_END = re.compile(r"[!?\n。！？]|(?<=\w\w)\.(?=\s|$)")
# "614 209 is your login code."
_IS_PIN = re.compile(
    rf"(?<![\w.,/#+$€£:-])(?P<value>\d(?:[ -]?\d){{3,9}}){EQUALS}(?:\w{{1,12}} ){{0,2}}?(?:{_PIN.pattern})", re.I
)
# "Your code is 604182, valid 10 min": what is valid for minutes is a code for logging in.
_VALID_FOR_MINUTES = re.compile(
    rf"(?:{_CODE_NAME.pattern})(?:{EQUALS}|\s?[:：])\s?(?P<value>\d(?:[ -]?\d){{3,7}})(?!\w)"
    r"[^\n\d]{1,40}\d{1,2} ?min",
    re.I,
)
# "R12 L34 R7": turns of a dial; "left 34, right 12, left 57" only after the name of a lock.
_DIAL_TURNS = re.compile(r"(?<!\w)[RL] ?\d{1,2}(?:[ ,–-]{1,3}[RL] ?\d{1,2}){2,4}(?!\w)")
_DIALLED = re.compile(
    rf"(?:{_LOCK_NAME.pattern})[^\n!?]{{0,40}}?(?<!\w)"
    r"(?P<value>(?P<way>[^\W\d]{2,12}) \d{1,2},? [^\W\d]{2,12} \d{1,2},? (?P=way) \d{1,2}"
    r"|\d{1,2} (?P<turn>[^\W\d]{2,12}),? \d{1,2} [^\W\d]{2,12},? \d{1,2} (?P=turn))(?!\w)",
    re.I,
)
# "17-42-8-63": numbers of a dial say enough after the name of a lock, three of them also need a word for a code.
_NAME_OF_DIAL = re.compile(any_whole_words(lambda pack: (*pack.secrets.codes, *pack.secrets.passwords)), re.I)
_DIAL_NUMBERS = re.compile(r"(?<![\w.,:/+-])\d{1,2}(?: ?[-–] ?\d{1,2}){2,4}(?![\w:/+-]|[.,]\d)")
# "The PIN of the card, spelled: two nine zero seven".
_SPOKEN_PIN = re.compile(
    rf"(?:{_PIN.pattern})[^\n!?]{{0,48}}?(?<!\w)"
    rf"(?P<value>(?:(?:{SPOKEN_DIGITS})[ ,-]{{1,2}}){{3,7}}(?:{SPOKEN_DIGITS}))(?![\w-])",
    re.I,
)
# "The PIN k4f7t2x9": letters and digits directly after the name of a PIN.
_MIXED_PIN = re.compile(
    rf"(?P<name>{_PIN.pattern})(?P<link>{LINKS}|\s?[:：])?\s{{0,2}}[\"'`“„«]?(?P<value>(?-i:[A-Za-z\d]{{6,16}}))(?![\w.@/-]*\w)",
    re.I,
)
# "Code 1973": directly after the word for a code, even an apparent year is a code.
_AFTER_CODE_NAME = re.compile(rf"(?:{_CODE_NAME.pattern})(?:{EQUALS})?\s?[:：]?\s?$", re.I)
# An answer continues the sentence of its question: "And the code of the gate? 4711".
_ANSWERS = re.compile(r"[?？][\s>:\"'“„–-]{1,6}$")
_YEAR = re.compile(r"(?:19|20)\d\d")

_PINS = Patterns([(_PIN, None)])
_ANYWHERE = (_DIALLED, _IS_PIN, _SPOKEN_PIN, _VALID_FOR_MINUTES)
_PATTERNS = Patterns((pattern, None) for pattern in (*_ANYWHERE, _DIAL_TURNS, _MIXED_PIN, _DIAL_NUMBERS, _CODE))


def find(text: str) -> Iterator[SecretSpan]:
    for announced in before_numbers(_PINS, text, MAX_CHARACTERS_BETWEEN):
        match = _DIGITS.match(text, announced.end())
        if match and not _is_year(match):
            yield SecretSpan(*match.span("value"), "pin")
    matches = _PATTERNS.finder(text)
    yield from (SecretSpan(*match.span(), "pin") for match in matches(_DIAL_TURNS))
    yield from (SecretSpan(*match.span("value"), "pin") for pattern in _ANYWHERE for match in matches(pattern))
    yield from _mixed_pins(matches(_MIXED_PIN))
    yield from _dials(matches(_DIAL_NUMBERS))
    for match in matches(_CODE):
        named = _AFTER_CODE_NAME.search(text, max(0, match.start() - 30), match.start())
        if (named or not _YEAR.fullmatch(match["value"])) and _is_announced(text, *match.span()):
            yield SecretSpan(*match.span("value"), "pin")


def _mixed_pins(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    for match in matches:
        is_verb = match["name"] == "pin" and not match["link"]  # "pin node20lts"
        if shape(match["value"]) is Shape.ODD and not (is_verb or is_compound_name(match["value"])):
            yield SecretSpan(*match.span("value"), "pin")


def _dials(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    """The numbers of a dial after the name of its lock, also in the sentence after it."""
    for match in matches:
        text = match.string
        before = max(0, match.start() - MAX_CHARACTERS_BETWEEN), match.start()
        is_long = len(re.findall(r"\d+", match[0])) > 3
        if _LOCK_NAME.search(text, *before) and (is_long or _NAME_OF_DIAL.search(text, *before)):
            yield SecretSpan(*match.span(), "pin")


def _is_year(match: re.Match[str]) -> bool:
    """Whether this is a year rather than a PIN: there is no word or sign for "is"."""
    has_sign = match["sign"] and not re.fullmatch(r"\w\w", match["sign"])
    return not has_sign and bool(_YEAR.fullmatch(match["value"]))


def _is_announced(text: str, start: int, end: int) -> bool:
    """Whether the code follows its lock (“Gate: 4711”), or its sentence has two of: lock, word for a code, verb."""
    ends_before = [match.end() for match in _SENTENCE_END.finditer(text, max(0, start - MAX_CHARACTERS_BETWEEN), start)]
    if _ANSWERS.search(text, max(0, start - 8), start):
        ends_before = ends_before[: -len(re.findall(r"[?？\n]", text[max(0, start - 8) : start]))]
    end_after = _SENTENCE_END.search(text, end, end + MAX_CHARACTERS_BETWEEN)
    sentence = (
        ends_before[-1] if ends_before else max(0, start - MAX_CHARACTERS_BETWEEN),
        end_after.start() if end_after else end + MAX_CHARACTERS_BETWEEN,
    )
    return bool(_AT_PLACE.search(text, sentence[0], start)) or (
        sum(bool(cue.search(text, *sentence)) for cue in (_LOCK_NAME, _CODE_NAME, _ENTER_VERB)) > 1
    )
