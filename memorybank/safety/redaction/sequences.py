"""Find secrets of several parts: passphrases, recovery words, keys in groups, codes in a row, lines of a key.

A passphrase needs an announcement. Of the others the form says enough: no text has twelve short words in a row without
a function word, or lines of base64.
"""

import re
from collections.abc import Iterator

from memorybank.language import collect_for_masking, literals
from memorybank.language.prefilter import Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import LINKS, VALUE_QUOTES, any_whole_words
from memorybank.safety.redaction.spans import MASK_PLACEHOLDER, SecretSpan

MIN_PASSPHRASE_WORDS, MAX_PASSPHRASE_WORDS = 4, 30

_PHRASE_WORDS = rf"[^\W\d_]{{2,16}}(?:[ -][^\W\d_]{{1,16}}){{{MIN_PASSPHRASE_WORDS - 1},{MAX_PASSPHRASE_WORDS - 1}}}"
_PHRASE_NAMES, _WORDINGS = (
    any_whole_words(of) for of in (lambda pack: pack.secrets.phrases, lambda pack: pack.secrets.wordings)
)
_OPENS = any_whole_words(lambda pack: pack.secrets.opens)
_QUOTED = rf"[{VALUE_QUOTES}](?P<quoted>[^\n{VALUE_QUOTES}]{{8,160}})[{VALUE_QUOTES}]"
_PHRASE = re.compile(
    rf"(?:(?:{_PHRASE_NAMES}|{_WORDINGS})[^\n.!?:{VALUE_QUOTES}]{{0,60}}?{LINKS}|(?:{_PHRASE_NAMES}),?)\s{{0,2}}(?:{_QUOTED}|(?P<value>{_PHRASE_WORDS}))",
    re.I,
)
_OPENED = re.compile(rf"(?:{_OPENS})(?:(?: [\w'’]{{1,12}}){{0,3}}?:? {_QUOTED}| ?(?P<value>{_PHRASE_WORDS}))", re.I)

#: How many recovery words a wallet has (BIP 39), and how many of them may be function words of any language.
RECOVERY_WORDS, MAX_FUNCTION_WORDS = frozenset((12, 15, 18, 21, 24)), 3
_RECOVERY_WORDS = re.compile(
    r"(?<![\w'’-])(?:1[.)] [a-z]{3,8}(?:[,;]?\s\d{1,2}[.)] [a-z]{3,8}){11,23}"
    r"|(?<![^\W_] )[a-z]{3,8}(?:(?:,? |\n)[a-z]{3,8}){11,23})(?![\w'’-]| [^\W\d_])"
)
# "ywfq g2cr ju4r czlj", the seed of a second factor; several of its groups mix letters and digits.
_GROUPS = re.compile(r"(?<![\w-])[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15}(?![\w-])")
# "App password: abkd wqzn hvma pplk".
_APP_PASSWORD = re.compile(
    rf"(?:{literals(collect_for_masking(lambda pack: pack.secrets.passwords))})[^\n]{{0,40}}?[:\s]"
    rf"[{VALUE_QUOTES}]?(?P<value>[a-z]{{4}}(?:[ -][a-z]{{4}}){{3}})(?![\w-])",
    re.I,
)
_MIXED_GROUP = re.compile(r"(?=[a-z]{0,3}[2-7])(?=[2-7]{0,3}[a-z])[a-z2-7]{4}")
# "EsTd 7WRq F4sR …": a key for recovery in groups; several of them mix cases, or letters and digits. Not hexadecimal.
_KEY_GROUPS = re.compile(r"(?<![\w-])[A-Za-z0-9]{4}(?:[ -][A-Za-z0-9]{4}){7,15}(?![\w-])")
_MIXED_CASES = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\d[A-Za-z]|[A-Za-z]\d")
MIN_MIXED_GROUPS = 4
# Codes of one form, one or two in a line: "7g2ad-c42hf" above "a63kf-667ea".
_LISTED = r"[a-z0-9]{4,6}-[a-z0-9]{4,6}"
_CODE_LIST = re.compile(
    rf"^(?:[ \t]{{0,8}}(?:[-*•] |\d{{1,2}}[.):] )?{_LISTED}(?:[ \t,]{{1,8}}{_LISTED})?[ \t]{{0,4}}(?:\n|\Z)){{3,16}}",
    re.M | re.I,
)
_LISTED_CODE = re.compile(_LISTED, re.I)
_TELLS_OF_CODES = re.compile(r"(?<!\w)(?:\w{0,24}codes?|backup|recovery|printed|2fa)(?!\w)", re.I)
#: How far such a word may stand before a list.
MAX_CHARACTERS_TO_LIST = 160
# "Key 1: [masked]" above "Key 3: …".
_NUMBERED = re.compile(
    r"[ \t]{0,8}(?P<label>[^\n:=\d]{2,40}?)[ #]{0,2}\d{1,2}\s?[:=]\s{1,4}"
    r"(?:(?P<value>[\w+/=.~-]{12,512})|\ue000)\s{0,4}"
)
_PASSPHRASES, _PASSWORDS = Patterns([(_PHRASE, None), (_OPENED, None)]), Patterns([(_APP_PASSWORD, None)])
# Lines of a key whose first or last lines are missing. What is public has a heading (see ``public_values``).
_KEY_LINES = re.compile(r"^[A-Za-z0-9+/]{48,80}$(?:\n[A-Za-z0-9+/]{48,80}$)*(?:\n[A-Za-z0-9+/]{4,80}={0,2}$)", re.M)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/]{4,80}={0,2}\r?\n")
_KEY_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY")
# A list whose items have the form of one that is masked: each a line of one word.
_ITEM = re.compile(r"[ \t]{0,8}(?:[-*•–] |\d{1,2}[.):] ?)?(?P<value>\S{6,40})[ \t]{0,8}")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# The same in one line: "[redacted: pin], 2592-4716, 5602-2858 and 7555-6227".
_NEXT_ITEM = re.compile(
    r"(?:[,;]|,? \w{1,3}(?= ))? "
    r"(?P<value>[A-Za-z0-9]{3,12}(?:(?:-| (?=[A-Za-z]{0,11}\d))[A-Za-z0-9]{3,12}){1,4})(?=[,;.]|\s|$)"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d-\d\d-\d{4}")


def find(text: str) -> Iterator[SecretSpan]:
    yield from _passphrases(text)
    yield from _groups(text)
    yield from _long_groups(text)
    yield from _key_lines(text)
    if MASK_PLACEHOLDER in text:
        yield from _siblings(text)
        yield from _siblings_in_line(text)
        yield from _numbered_siblings(text)


def _groups(text: str) -> Iterator[SecretSpan]:
    """The recovery words of a wallet, the seed of a second factor, and passwords in four groups of letters."""
    for match in _RECOVERY_WORDS.finditer(text):
        words, *between = re.findall(r"[a-z]+", match[0]), *re.split(r"[a-z]+", match[0])[1:-1]
        is_list = (
            len({re.sub(r"\d", "", sign) for sign in between}) == 1
        )  # notes in few words have commas here and there
        function_words = sum(word in FUNCTION_WORDS for word in words)
        if is_list and len(words) in RECOVERY_WORDS and function_words <= MAX_FUNCTION_WORDS:
            yield SecretSpan(*match.span(), "passphrase")
    for match in _GROUPS.finditer(text):
        if len(_MIXED_GROUP.findall(match[0])) > 1:
            yield SecretSpan(*match.span(), "seed of a second factor")
    for match in _PASSWORDS.finder(text)(_APP_PASSWORD):
        if not FUNCTION_WORDS.intersection(re.split(r"[ -]", match["value"].casefold())):
            yield SecretSpan(*match.span("value"), "password")


def _long_groups(text: str) -> Iterator[SecretSpan]:
    """Keys for recovery in many groups, and lists of codes of one form after a word for such codes."""
    for match in _KEY_GROUPS.finditer(text):
        groups = re.split(r"[ -]", match[0])
        if not re.fullmatch(r"[0-9a-f -]+", match[0], re.I) and (
            sum(bool(_MIXED_CASES.search(group)) for group in groups) >= max(MIN_MIXED_GROUPS, len(groups) // 2)
        ):
            yield SecretSpan(*match.span(), "recovery key")
    for match in _CODE_LIST.finditer(text):
        codes = list(_LISTED_CODE.finditer(text, *match.span()))
        is_of_one_form = len({_LETTER_OR_DIGIT.sub("x", code[0]) for code in codes}) == 1
        mixed = sum(bool(re.search(r"\d", code[0]) and re.search(r"[A-Za-z]", code[0])) for code in codes)
        before = max(0, match.start() - MAX_CHARACTERS_TO_LIST), match.start()
        if is_of_one_form and 2 * mixed > len(codes) and _TELLS_OF_CODES.search(text, *before):
            yield from (SecretSpan(*code.span(), "secret") for code in codes)


def _key_lines(text: str) -> Iterator[SecretSpan]:
    """Lines of base64, and those before the end of a private key whose beginning is elsewhere."""
    for match in _KEY_LINES.finditer(text):
        if all(re.search(kind, match[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]")):
            yield SecretSpan(*match.span(), "private key")
    if "-----END " not in text:
        return
    start, begin = 0, -1
    for line in text.splitlines(keepends=True):
        if _KEY_LINE.fullmatch(line):
            begin = start if begin < 0 else begin
        else:
            if begin >= 0 and _KEY_END.match(line):
                yield SecretSpan(begin, start - 1, "private key")
            begin = -1
        start += len(line)


def _siblings(text: str) -> Iterator[SecretSpan]:
    """The items of a list of which one was masked, if all others have one form, as recovery codes have."""
    start, items, is_masked = 0, [], False
    for line in (*text.splitlines(keepends=True), ""):
        item = _ITEM.fullmatch(line.rstrip("\n"))
        if line.strip(" \t\n-*•–.)0123456789") == MASK_PLACEHOLDER:
            is_masked = True
        elif item and re.search(r"\d", item["value"]):
            items.append((start + item.start("value"), item["value"]))
        else:
            if is_masked and len({_LETTER_OR_DIGIT.sub("x", value) for _, value in items}) == 1:
                yield from (SecretSpan(begin, begin + len(value), "secret") for begin, value in items)
            items, is_masked = [], False
        start += len(line)


def _siblings_in_line(text: str) -> Iterator[SecretSpan]:
    """What follows a mask in its line, if it is several values of one form with digits, and no dates."""
    for mask in re.finditer(MASK_PLACEHOLDER, text):
        items, end = [], mask.end()
        while item := _NEXT_ITEM.match(text, end):
            items.append(item)
            end = item.end()
        forms = {_LETTER_OR_DIGIT.sub("x", item["value"]) for item in items}
        if len(items) > 1 and len(forms) == 1 and all(_is_code(item["value"]) for item in items):
            yield from (SecretSpan(*item.span("value"), "secret") for item in items)


def _numbered_siblings(text: str) -> Iterator[SecretSpan]:
    """What stands under the same name with another number, where one was masked: "Key 2: …" below "Key 1: [masked]"."""
    start, found = 0, []
    for line in text.splitlines(keepends=True):
        if item := _NUMBERED.fullmatch(line):
            found.append((item["label"].casefold(), start, item))
        start += len(line)
    masked = {label for label, _, item in found if not item["value"]}
    for label, begin, item in found:
        if label in masked and item["value"] and re.search(r"[a-z][A-Z]|\d[A-Za-z]|[A-Za-z]\d", item["value"]):
            yield SecretSpan(begin + item.start("value"), begin + item.end("value"), "secret")


def _is_code(value: str) -> bool:
    return bool(re.search(r"\d", value)) and not _DATE.fullmatch(value)


def _passphrases(text: str) -> Iterator[SecretSpan]:
    """Every passphrase: all words between quotation marks, or words with few function words."""
    for phrase, _ in _PASSPHRASES.possible(text):
        for match in phrase.finditer(text):
            name = "quoted" if match["quoted"] else "value"
            if _is_phrase(match[name], quoted=name == "quoted"):
                yield SecretSpan(*match.span(name), "passphrase")


def _is_phrase(value: str, *, quoted: bool) -> bool:
    words = re.split(r"[ -]", value.casefold())
    function_words = sum(word in FUNCTION_WORDS for word in words)
    if quoted:
        return len(words) >= MIN_PASSPHRASE_WORDS
    return words[0] not in FUNCTION_WORDS and 3 * function_words <= (
        len(words) if len(words) > MIN_PASSPHRASE_WORDS else 0
    )
