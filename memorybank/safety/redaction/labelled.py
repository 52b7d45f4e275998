"""Find plain words as passwords by their place: after a label, as an answer, or in a column of passwords."""

import re
from collections.abc import Callable, Iterator

from memorybank.language import alternation, collect_for_masking, literals
from memorybank.language.prefilter import Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import LINKS, VALUE_QUOTES, any_whole_words
from memorybank.safety.redaction.shapes import is_measure, is_placeholder, shape
from memorybank.safety.redaction.spans import SecretSpan
from memorybank.safety.tables import cells

_SPACED, _CJK = (
    literals(
        word
        for of in (lambda pack: pack.secrets.passwords, lambda pack: pack.secrets.short)
        for word in collect_for_masking(of, spaced=spaced)
    )
    for spaced in (True, False)
)
_LABELS = rf"(?:(?<![\w-])(?:{_SPACED})|{_CJK})"
# Words for "is" that are attached to a label. Latin letters are excluded: "passes" is not "pass is".
_SAYS = alternation(
    word for word in collect_for_masking(lambda pack: pack.secrets.says, spaced=True) if not word.isascii()
)
_STATE = re.compile(any_whole_words(lambda pack: pack.secrets.states), re.I)
# One word or compound, with the marks that people put between its parts.
_VALUE = rf"[{VALUE_QUOTES}]?(?P<value>[^\W_](?:[\w+.'’&#!$%*@-]{{2,40}}[\w!$%#*]))[{VALUE_QUOTES}]?"
_VALUE_END = r"(?=[.!]?\s{0,2}(?:[,;()\n。，]|:\)|$))"
_LABELLED = re.compile(rf"{_LABELS}(?P<gap>(?: [\w'’-]{{1,16}}){{0,6}})\s?[:：]\s{{0,2}}{_VALUE}{_VALUE_END}", re.I)
_ASKED = re.compile(rf"{_LABELS}[^\n.!?？]{{0,48}}[?？][ \n>–-]{{1,4}}{_VALUE}{_VALUE_END}", re.I)
# "k-i-t-e": people write this only to spell a word.
_SPELT = re.compile(rf"{_LABELS}[^\n.!?]{{0,60}}?\s(?P<value>\w(?:[-.·]\w){{3,30}})(?![\w-])", re.I)
_TITLE = re.compile(rf"\W{{0,3}}(?:{_LABELS})\W{{0,3}}", re.I)
# Languages that attach their "is" to the word: "암호는".
_ATTACHED_IS = re.compile(rf"{_LABELS}(?:{_SAYS})\s{_VALUE}(?=[\s.,!]|$)", re.I)
_FORM = re.compile(
    r"type\s?=\s?[\"']?password\b[^<>\n]{0,120}?value\s?=\s?[\"']?(?P<value>[^\"'<>\s]{3,64})"
    rf"|<(?:{_LABELS})>\s?(?P<inside>[^<>\s]{{3,64}})\s?</",
    re.I,
)
_SECRET_NAMES = literals(collect_for_masking(lambda pack: (*pack.secrets.passwords, *pack.secrets.key_words)))
# A pair of a name and its value, as in XML and Kubernetes: "name: DB_PASSWORD" above "value: …".
_NAMED_VALUE = re.compile(
    rf"(?:name|key)[\"']?\s?[:=]\s?[\"']?[\w.-]{{0,40}}(?:{_SECRET_NAMES}|pass)[\w.-]{{0,24}}[\"']?[,\s]{{1,16}}[\"']?value[\"']?\s?[:=]\s?[\"']?(?P<value>[^\s\"'<>,]{{4,512}})",
    re.I,
)
_KEYS = literals(word for word in collect_for_masking(lambda pack: pack.secrets.key_words) if word.isalpha())
# "WLAN: Lager, Schlüssel kreide-und-schwamm": the key of a network is a password.
_NETWORK = re.compile(
    rf"(?:{any_whole_words(lambda pack: pack.secrets.networks)})[^\n!?]{{0,60}}?(?<![^\W_])(?:{_KEYS}|{_SPACED})"
    rf"(?:\s?{LINKS}\s?|\s){_VALUE}{_VALUE_END}",
    re.I,
)
# The key on the sticker of a router: twenty digits.
_STICKER = re.compile(r"(?<![\d.,:/+-])(?<!\d )\d{4}(?: ?\d{4}){4}(?! ?\d|[\w-])")
_NETWORK_NAME = re.compile(any_whole_words(lambda pack: pack.secrets.networks), re.I)
#: How far the name of a network may stand from its key.
MAX_CHARACTERS_TO_NETWORK = 60
_LICENCE = re.compile(
    rf"(?:{any_whole_words(lambda pack: pack.secrets.licences)})[^\n!?]{{0,40}}?(?<![\w-])"
    r"(?P<value>(?-i:[A-Z\d]{2,8}(?:-[A-Z\d]{2,8}){1,8}))(?![\w-])",
    re.I,
)
# "CHAVE_API=5dc94f": a random value in a variable named key is a secret, in any language.
_VARIABLE = re.compile(
    rf"(?<![^\W_])(?:{_KEYS})(?:_\w{{1,24}})?\s?[=:]\s?[{VALUE_QUOTES}]?(?P<value>[\w+/=~.-]{{20,512}})", re.I
)
# "I set RAILS_MASTER_KEY to 9eee…": in prose, too, a variable in capitals says what its value is.
_NAMED_VARIABLE = re.compile(
    rf"(?<![\w-])(?!\w{{0,40}}PUBLIC)[A-Z][A-Z0-9]{{0,30}}(?:_[A-Z0-9]{{1,30}}){{0,6}}_(?i:{_KEYS}|{_SPACED})[\"'`]?"
    rf"(?:{LINKS}| {{1,2}}) {{0,2}}[{VALUE_QUOTES}]?(?P<value>[\w+/=~.-]{{12,512}})"
)
MIN_LICENCE_CHARACTERS = 10
#: A first word after the label of at most this length counts as a function word, in any language.
MAX_FUNCTION_WORD_CHARACTERS = 4


_PATTERNS = Patterns(
    (pattern, "")
    for pattern in (
        _LABELLED,
        _FORM,
        _ASKED,
        _SPELT,
        _ATTACHED_IS,
        _NAMED_VALUE,
        _NETWORK,
        _STICKER,
        _LICENCE,
        _VARIABLE,
        _NAMED_VARIABLE,
    )
)


def find(text: str) -> Iterator[SecretSpan]:
    matches = _PATTERNS.finder(text)
    for match in matches(_LABELLED):
        gap = match["gap"].split()
        is_close = not gap or len(gap[0]) <= MAX_FUNCTION_WORD_CHARACTERS or gap[0].casefold() in FUNCTION_WORDS
        if is_close and _may_be_password(match["value"]):
            yield SecretSpan(*match.span("value"), "password")
    for match in matches(_FORM):
        yield SecretSpan(*match.span(match.lastgroup or 0), "password")
    for pattern in (_ASKED, _SPELT, _ATTACHED_IS):
        for match in matches(pattern):
            if _may_be_password(match["value"]):
                yield SecretSpan(*match.span("value"), "password")
    yield from _keys(matches)
    yield from _columns(text)


def _keys(matches: Callable[[re.Pattern[str]], Iterator[re.Match[str]]]) -> Iterator[SecretSpan]:
    """Keys of networks and programs, values of variables named key, and of pairs whose name says so."""
    for match in matches(_NAMED_VALUE):
        if re.search(r"[^\W\d_]", match["value"]) and not is_placeholder(match["value"]):
            yield SecretSpan(*match.span("value"), "secret")
    for match in matches(_NETWORK):
        if _may_be_password(match["value"]) and (shape(match["value"]) or "-" in match["value"]):
            yield SecretSpan(*match.span("value"), "password")
    yield from _on_stickers(matches)
    for pattern, kind, fewest in (
        (_LICENCE, "licence key", MIN_LICENCE_CHARACTERS),
        (_VARIABLE, "secret", 1),
        (_NAMED_VARIABLE, "secret", 1),
    ):
        for match in matches(pattern):
            value = match["value"]
            if len(value) >= fewest and re.search(r"\d", value) and re.search(r"[^\W\d_]", value):
                yield SecretSpan(*match.span("value"), kind)


def _on_stickers(matches: Callable[[re.Pattern[str]], Iterator[re.Match[str]]]) -> Iterator[SecretSpan]:
    for match in matches(_STICKER):
        near = max(0, match.start() - MAX_CHARACTERS_TO_NETWORK), match.end() + MAX_CHARACTERS_TO_NETWORK
        if _NETWORK_NAME.search(match.string, *near):
            yield SecretSpan(*match.span(), "password")


def _may_be_password(word: str) -> bool:
    """Whether the word is not a function word, a description of a password, a version or a placeholder."""
    begun = re.split(r"['’]", word.casefold())[0]
    if word.casefold() in FUNCTION_WORDS or begun in FUNCTION_WORDS:
        return False
    return not (_STATE.fullmatch(word) or is_placeholder(word) or is_measure(word))


def _columns(text: str) -> Iterator[SecretSpan]:
    """The cells below the title of a password column."""
    for _, start, value in cells(text, lambda part: bool(_TITLE.fullmatch(part))):
        if len(value) > 2 and re.search(r"\w", value) and not is_placeholder(value):
            yield SecretSpan(start, start + len(value), "password")
