"""Find passwords as people type them: with an announcing word before or after, with or without a sign.

Near an announcing word ("password"), a word is masked if it looks enough like a password. In doubt it stays unmasked.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from memorybank.language import alternation, collect, collect_for_masking, literals
from memorybank.language.prefilter import Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import EQUALS, LINKS, VALUE_QUOTES, any_whole_words
from memorybank.safety.redaction.shapes import (
    Shape,
    is_compound_name,
    is_measure,
    is_name_of_parts,
    is_placeholder,
    is_random,
    shape,
)
from memorybank.safety.redaction.spans import SecretSpan

#: The words after and before an announcement that are searched for a password.
WORDS_AFTER, WORDS_BEFORE = 16, 12
#: Announcements: words for a password, words for a key, words for getting access.
ANNOUNCEMENT_KINDS = ("strong", "key", "weak")

_PASSWORD_WORDS = collect_for_masking(lambda pack: pack.secrets.passwords)
_SHORT_FORMS = collect_for_masking(lambda pack: pack.secrets.short)
_KEYS = alternation(collect_for_masking(lambda pack: pack.secrets.keys))
# "With" alone tells of no access: in Chinese it is a word that opens, and a part of many others.
_ACCESS = any_whole_words(
    lambda pack: (
        *pack.secrets.access,
        *(words for words in pack.secrets.opens if words not in pack.secrets.means),
    )
)
_PHRASES = any_whole_words(lambda pack: pack.secrets.phrases)
_PASSWORD_NAMES = literals(_PASSWORD_WORDS).replace(r"\ ", "[ _-]")  # as in names of variables: "mot_de_passe"
# The value may stand on the next line, unless that line has a name of its own: in "PASSWORD=" nothing was assigned.
_TO_VALUE = r"(?:[^\S\n]{0,4}|[^\S\n]{0,4}\n\s{0,4}(?![\w.-]{1,48}\s?[=:]))"
_ASSIGNED = re.compile(
    rf"(?:(?P<password>{_PASSWORD_NAMES})|(?P<short>(?<![^\W_])(?:{literals(_SHORT_FORMS)}))|(?P<secret>{_KEYS}))(?:[_-]\w{{1,20}})?[\"'`]?\s{{0,4}}"
    rf"(?P<sign>{LINKS}){_TO_VALUE}(?:(?P<quote>[{VALUE_QUOTES}])|(?P<brace>\{{))?"
    rf"(?P<value>(?(quote)[^\n{VALUE_QUOTES}]{{4,128}}|(?(brace)[^\n{{}}]{{2,64}}\}}[^\s;\"']{{0,64}}|[^\s{VALUE_QUOTES},;<>()\[\]{{}}，。；\u3040-\u30ff\u3400-\u9fff]{{4,512}})))(?P<closed>[{VALUE_QUOTES}]?)",
    re.I,
)
# "getpass.getpass(": what is called is no password.
_CALLED = re.compile(r"(?:[A-Za-z_]+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\(")
_FLAG = re.compile(
    rf"(?<!\S)--?(?:[\w-]{{0,24}}[-_])?(?:{literals((*_PASSWORD_WORDS, *_SHORT_FORMS))}|{_KEYS})(?:word)?[ =]"
    r"[\"']?(?P<value>[^\s\"'<>\[\]{}$-][^\s\"'<>\[\]]{3,128})",
    re.I,
)
_ANNOUNCED = re.compile(
    rf"(?P<strong>{literals(_PASSWORD_WORDS)}|(?<!\w)(?:{literals(_SHORT_FORMS)})(?!\w))|(?P<key>{_KEYS})|(?P<weak>{_ACCESS}|{_PHRASES})",
    re.I,
)
_PAIR = re.compile(r"(?<![\w/.-])[\w.@-]{2,40} / (?P<value>[^\s/|,;<>\[\]]{7,64})(?!\s?/)")
_CANDIDATE_WORD = re.compile(
    rf"[^\s{VALUE_QUOTES},;<>()\[\]{{}}|，。；、！？：\u3040-\u30ff\u3400-\u9fff\ue000]+|[\u3040-\u30ff\u3400-\u9fff]+|\ue000"
)
# "- decision: ": a note among others, which says nothing about them.
_NOTE = re.compile(r"^- \w{3,12}: ", re.M)
_TELLTALE_CHARACTER = re.compile(r"[\d!@#$%^&*+~=]")
_LETTERS_AND_DIGITS = re.compile(r"[^\W\d_]{3}\d\d")
_NAME_PREFIX = re.compile(r"[\w.-]{1,40}[:=](?=[^/=:\s])")
# A line of a configuration names its value: what stands after "instance_class =" is no password, whatever is announced
# above it.
_OWN_NAME = re.compile(
    r"[ \t]{0,16}(?:export |- )?[\"']?(?P<name>[A-Za-z][\w.-]{1,40})[\"']?[ \t]{0,16}"
    r"(?P<sign>[=:])[ \t]{0,4}(?P<quote>[\"']?)"
)
_ATTRIBUTE = re.compile(r"[\s({,](?P<name>[A-Za-z][\w-]{1,24})(?P<sign>=)(?P<quote>[\"'])$")
_PLAIN_SETTING = re.compile(r"[\w./:-]{1,80}")
_LINK_BEFORE = re.compile(rf"{LINKS}\s?[{VALUE_QUOTES}]?$", re.I)
_EQUALS_BEFORE = re.compile(rf"(?:{EQUALS})\s?[{VALUE_QUOTES}]?$", re.I)
_KEY_WORDS = literals(word for word in collect_for_masking(lambda pack: pack.secrets.key_words) if word.isalpha())
_NAME_OF_SECRET = re.compile(rf"{literals(_SHORT_FORMS)}|{_KEY_WORDS}", re.I)
_HANDED_OVER = re.compile(
    rf"(?:(?<!\w)(?:{_KEY_WORDS})(?: (?:{_ACCESS}))?\s?[:=]?|(?:{_PHRASES})|\s/)\s?[{VALUE_QUOTES}]?$", re.I
)
# "She logs in with kastanie7", but not "log in to harbour-02" or "auf harbour-02 anmelden".
_MEANS = alternation(collect_for_masking(lambda pack: pack.secrets.means, spaced=True))
_GOT_IN_WITH = re.compile(rf"(?:{_ACCESS})(?: [\w'’]{{1,16}}){{0,3}} (?:{_MEANS})\s?[:=]?\s?[{VALUE_QUOTES}]?$", re.I)
_ENTERED_BEFORE = re.compile(rf"(?:{_ACCESS})\s\w{{1,8}}\s$", re.I)
_ENTERED_AFTER = re.compile(rf"\s(?:{_ACCESS})", re.I)
_DIGIT_INSIDE = re.compile(r"[^\W\d_]\d{1,4}[^\W\d_]")
_WORD_AND_NUMBER = re.compile(r"[^\W\d_]{3,}[._-]?\d{1,4}")
_PLAIN_VALUE = re.compile(
    rf"(?:{literals(_PASSWORD_WORDS)})(?P<gap>(?: [\w'’]{{1,16}}){{0,6}}?|\?[^\n.!?]{{0,24}}?)(?:{EQUALS})\s{{0,2}}"
    r"(?P<value>[^\W\d_]{6,24}|\d{4,10})(?=\s{0,2}(?:[.,;!?()\n]|$))(?!,\d|\.\d)",
    re.I,
)
_VALUE_AS_PASSWORD = re.compile(
    rf"(?<![^\s{VALUE_QUOTES}])(?P<value>[^\s{VALUE_QUOTES}]{{6,64}})[{VALUE_QUOTES}]?(?=\s){LINKS}"
    rf"(?:\w{{1,10}} ){{0,2}}?(?:{literals(_PASSWORD_WORDS)})(?!\w)",
    re.I,
)
_STATE = re.compile(any_whole_words(lambda pack: pack.secrets.states), re.I)
_QUOTED = re.compile(rf"[{VALUE_QUOTES}]([^\n{VALUE_QUOTES}]{{6,64}})[{VALUE_QUOTES}]")
# Weekdays are not passwords: in "expires on Friday", one language's "on" is another's "is".
_DAYS = frozenset(word for names in collect(lambda pack: pack.dates.weekdays) for word in names.casefold().split())
# Every announcement contains one of these. Searching for them is a hundred times faster than for announcements.
_HINTS = tuple(
    dict.fromkeys((*_PASSWORD_WORDS, *_SHORT_FORMS, *collect_for_masking(lambda pack: pack.secrets.key_words)))
)

_PATTERNS = Patterns((pattern, None) for pattern in (_ASSIGNED, _FLAG, _PLAIN_VALUE, _VALUE_AS_PASSWORD))
_ANNOUNCEMENTS = Patterns([(_ANNOUNCED, None)])


def find(text: str) -> Iterator[SecretSpan]:
    """Every password and every other secret that a person would type."""
    yield from _pairs(text)
    folded = text.casefold().replace("’", "'")
    if any(hint in folded for hint in _HINTS):
        matches = _PATTERNS.finder(text)
        yield from (span for match in matches(_ASSIGNED) if (span := _assigned(match)))
        yield from (
            SecretSpan(*match.span("value"), "password")
            for match in matches(_FLAG)
            if not is_placeholder(match["value"])
        )
        yield from _plain_values(matches(_PLAIN_VALUE), matches(_VALUE_AS_PASSWORD))
    yield from _near_announcements(text)


def _plain_values(after: Iterable[re.Match[str]], before: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    """Plain words in the place of a password, except words that describe a password ("wrong")."""
    for match in after:
        gap, value = match["gap"].split(), match["value"].casefold()
        if (not gap or gap[0] == "?" or gap[0].casefold() in FUNCTION_WORDS) and not (
            value in FUNCTION_WORDS
            or _STATE.fullmatch(value)
            or value in _PASSWORD_WORDS
            or value in _DAYS
            or is_placeholder(value)
        ):
            yield SecretSpan(*match.span("value"), "password")
    for match in before:
        if shape(match["value"]) > Shape.NONE:
            yield SecretSpan(*match.span("value"), "password")


def _pairs(text: str) -> Iterator[SecretSpan]:
    """``admin / Summer2024!``."""
    for match in _PAIR.finditer(text):
        value = _without_punctuation(match["value"])
        if shape(value) is Shape.ODD or (value != match["value"] and shape(match["value"]) is Shape.ODD):
            yield SecretSpan(match.start("value"), match.start("value") + len(value), "password")


def _without_punctuation(word: str) -> str:
    return word.rstrip(".!?:…")


def _assigned(match: re.Match[str]) -> SecretSpan | None:
    """``password=hunter2`` and “the password is Summer24!”, but not “password: ask Priya”."""
    value = match["value"] if match["closed"] else match["value"].rstrip(".!?:")
    if is_placeholder(value) or not value or value[0] == "$":
        return None
    if not match["quote"] and _CALLED.fullmatch(match.string[match.start("value") : match.end("value") + 1]):
        return None
    quoted = bool(match["quote"] and match["closed"])
    if " " in value and not (quoted and any(shape(part) or not part.isalnum() for part in value.split())):
        return None
    spelled = match["sign"] in ("=", ":=", "=>") or quoted or bool(match["brace"])
    password = not match["secret"]
    if not _looks_secret(value, spelled=spelled, password=password):
        return None
    start = match.start("value") - bool(match["brace"])
    return SecretSpan(start, match.start("value") + len(value), "password" if password else "secret")


def _looks_secret(value: str, *, spelled: bool, password: bool) -> bool:
    """Whether a value looks secret. Without ``spelled`` (an equals sign or quotes), it must mix kinds of characters."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    if is_measure(value):
        return password and spelled and len(value) >= 6 and not letters
    if not password and is_name_of_parts(value):
        return False
    if spelled and (password or (digits and len(value) >= 8)):
        return True
    mixed = bool(letters and (digits or re.search(r"[^\w.'’/-]", value)))
    return mixed and len(value) >= (6 if password else 12)


def _near_announcements(text: str) -> Iterator[SecretSpan]:
    """Words near an announcement that look like a password."""
    words = [match.span() for match in _CANDIDATE_WORD.finditer(text)]
    if not any(_tells(text[start:end]) for start, end in words):
        return  # most text has no such word, and need not be searched for announcements
    announcements = list(_ANNOUNCEMENTS.finder(text)(_ANNOUNCED))
    notes = [bisect_left(words, (note.start(), 0)) for note in _NOTE.finditer(text)]
    counts_by_word = zip(
        *(
            _announcement_counts(
                words,
                [match.span() for match in announcements if match.lastgroup == kind],
                notes if kind == ANNOUNCEMENT_KINDS[-1] else (),
            )
            for kind in ANNOUNCEMENT_KINDS
        ),
        strict=True,
    )
    ends = {match.end() for match in announcements if match.lastgroup == ANNOUNCEMENT_KINDS[0]}
    for number, counts in enumerate(counts_by_word):
        adjoins = (
            number > 0 and words[number - 1][1] in ends and "," not in text[words[number - 1][1] : words[number][0]]
        )
        if any(counts) and (span := _judged(text, *words[number], counts, adjoins=adjoins)):
            yield span


def _tells(word: str) -> bool:
    bare_word = _without_punctuation(word)
    return bool(_TELLTALE_CHARACTER.search(word) and (shape(bare_word) or is_random(bare_word)))


def _judged(text: str, begin: int, end: int, near: Sequence[int], *, adjoins: bool) -> SecretSpan | None:
    """The word as a span, if it looks enough like the secret announced near it. ``near``: announcements per kind."""
    strong, key, weak = near
    start, word = _without_name(text, begin, end)
    before = text[max(0, start - 28) : start]
    looks = shape(word)
    if not (looks < Shape.ODD and (_ENTERED_AFTER.match(text, end) or _ENTERED_BEFORE.search(before))):
        looks = _raised_shape(before, word, looks, adjoins=adjoins)
    if _is_named_otherwise(text, start, word) or _is_code(text[end : end + 1], word):
        return None
    span = SecretSpan(start, start + len(word), "password")
    if (strong and looks >= Shape.COMPOUND) or (
        weak and looks is Shape.ODD and not (is_compound_name(word) or is_name_of_parts(word))
    ):
        return _whole_quotation(text, span)
    if weak and looks and len(word) >= 8 and _HANDED_OVER.search(text, max(0, start - 28), start):
        return span
    if weak and looks and len(word) >= 8 and _GOT_IN_WITH.search(text, max(0, start - 64), start):
        return span
    is_key = is_random(word) or (
        looks is Shape.ODD and len(word) >= 10 and re.search(r"\d", word) and _LINK_BEFORE.search(before)
    )
    return SecretSpan(span.start, span.end, "secret") if key and is_key and not is_name_of_parts(word) else None


def _is_named_otherwise(text: str, start: int, word: str) -> bool:
    """Whether it is a name or size in a line of a configuration whose own name is not one of a secret."""
    if not _PLAIN_SETTING.fullmatch(word):
        return False
    line = text.rfind("\n", max(0, start - 80), start) + 1
    named = _OWN_NAME.fullmatch(text, line, start) if start - line < 80 else None
    named = named or _ATTRIBUTE.search(text, max(0, start - 32), start)
    is_word = named and word == word.lower() and shape(word) < Shape.ODD  # "name: billing-db2"
    if not named or not (named["sign"] == "=" or named["quote"] or "_" in named["name"] or is_word):
        return False
    name = named["name"].replace("_", " ").replace("-", " ")
    return not (_ANNOUNCED.search(name) or _ANNOUNCED.search(named["name"]) or _NAME_OF_SECRET.search(name))


def _is_code(after: str, word: str) -> bool:
    """Whether the word is the name of what is called, or of an attribute: ``login2(``, ``autocomplete="``."""
    return bool(after) and ((after == "(" and word.isidentifier()) or (after in "\"'" and word[-1:] == "="))


def _raised_shape(before: str, word: str, looks: Shape, *, adjoins: bool) -> Shape:
    """The shape of a word; after "is" a weaker resemblance to a password is enough."""
    if looks in (Shape.NONE, Shape.ODD):
        return looks
    if _EQUALS_BEFORE.search(before) and _WORD_AND_NUMBER.fullmatch(word) and len(word) >= 10:
        return Shape.ODD
    if looks is Shape.MIXED and (adjoins or _LINK_BEFORE.search(before)):
        likely = (_LETTERS_AND_DIGITS.search, _WORD_AND_NUMBER.fullmatch, *([_DIGIT_INSIDE.search] if adjoins else []))
        return Shape.COMPOUND if len(word) >= 8 or any(looks_likely(word) for looks_likely in likely) else looks
    return looks


def _without_name(text: str, start: int, end: int) -> tuple[int, str]:
    """The word without a name in front of it: ``user:`` or ``DB_PASS=``."""
    head = _NAME_PREFIX.match(text, start, end)
    rest = _without_punctuation(text[head.end() : end]) if head else ""
    is_variable = head and head[0][-1] == "=" and head[0] in (head[0].lower(), head[0].upper())
    is_assigned = head and head[0][-1] == "=" and not _EQUALS_BEFORE.search(text, max(0, start - 28), start)
    if head and (is_variable or is_assigned or shape(rest) or is_random(rest)):
        start = head.end()
    return start, _without_punctuation(text[start:end])


def _announcement_counts(
    words: Sequence[tuple[int, int]], announced: Sequence[tuple[int, int]], notes: Sequence[int]
) -> list[int]:
    """For each word, the number of announcements near it and not in another one of ``notes``, each its first word."""
    steps = [0] * (len(words) + 1)
    number = 0
    for start, _ in announced:
        while number < len(words) and words[number][1] <= start:
            number += 1
        note = bisect_right(notes, number)
        steps[max(0, number - WORDS_BEFORE, *notes[note - 1 : note])] += 1
        steps[min(len(words), number + WORDS_AFTER, *notes[note : note + 1])] -= 1
    return list(accumulate(steps[:-1]))


def _whole_quotation(text: str, span: SecretSpan) -> SecretSpan:
    """The quotation of at most three words around the span; without one, the span itself."""
    for match in _QUOTED.finditer(text, max(0, span.start - 66), min(len(text), span.end + 66)):
        if match.start() < span.start and match.end() > span.end and len(match[1].split()) <= 3:
            return SecretSpan(*match.span(1), span.kind)
    return span
