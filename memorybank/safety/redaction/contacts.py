"""Find contact data of people: e-mail addresses, telephone numbers, street addresses, coordinates, IP addresses."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, ip_address
from itertools import pairwise

from memorybank.language import alternation, collect_for_masking, packs
from memorybank.language.prefilter import Finder, Patterns
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.redaction.connectors import DIGITS, any_whole_words
from memorybank.safety.redaction.spans import SecretSpan, before_numbers

#: The kinds of mask that this module makes.
CONTACT_KINDS = ("e-mail address", "phone number", "address", "ip address")

_EMAIL = re.compile(
    r"(?<![\w.+%-])(?!git@)[\w+%-](?:[\w.+%'-]{0,62}[\w+%-])?(?:[@＠]|%40)(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}[^\W\d_]{2,24}(?![\w@-])"
)
_AT, _DOT = (
    alternation(map(re.escape, collect_for_masking(of)))
    for of in (lambda pack: pack.personal.at, lambda pack: pack.personal.dot)
)
_CJK_AT, _CJK_DOT = (
    alternation(map(re.escape, collect_for_masking(of, spaced=False)))
    for of in (lambda pack: pack.personal.at, lambda pack: pack.personal.dot)
)
_AT_SIGN = rf"(?:\s?[(\[{{<]\s?(?:@|{_AT})\s?[)\]}}>]\s?|\s(?:{_AT})\s|_(?:{_AT})_|-(?:{_AT})-|{_CJK_AT}|\s@\s)"
_DOT_SIGN = (
    rf"(?:\s?[(\[{{<]\s?(?:\.|{_DOT})\s?[)\]}}>]\s?|\s(?:{_DOT})\s|_(?:{_DOT})_|-(?:{_DOT})-|{_CJK_DOT}|\s\.\s|\.)"
)
_SPELT_EMAIL = re.compile(
    rf"(?<![\w.])[\w+-]{{1,40}}(?:{_DOT_SIGN}[\w+-]{{1,40}}){{0,3}}(?P<at>{_AT_SIGN})(?P<host>[\w-]{{1,40}})(?P<dots>(?:{_DOT_SIGN}[a-z][\w-]{{1,40}}){{0,3}}{_DOT_SIGN}(?P<top>[^\W\d_]{{2,24}}))(?!\w)",
    re.I,
)
# Letter by letter: "a n n a @ m a i l . d e".
_PARTED_EMAIL = re.compile(r"(?<!\S)(?:[\w.+-] ){2,40}@(?: [\w.-]){4,60}(?!\w)")
_INTERNATIONAL = re.compile(r"(?<![a-zA-Z\d_+])(?:\+|00)[1-9](?:[ ().\-/\u00a0]{0,2}\d){6,14}(?!\d)")
_AMERICAN = re.compile(r"(?<![\w.+/-])(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}(?![\w-]|\.\d)")
# Groups of digits that only telephone numbers have: "0491 570 156".
_GROUPED = re.compile(
    r"(?<![\w.,:/+#-])(?:0[1-9](?:[ .]\d\d){4}|0\d{1,3}-\d{2,3}(?: \d\d){2}|0[1-9]\d{1,3}(?: \d{2,4}){2,3}"
    r"|0[127]\d{3} \d{6}|0[1-9]\d{1,4} ?/ ?\d{3,8}(?:[ -]\d{1,4}){0,3})(?![\w-]|[ .,:/]\d)"
)
_PHONE_CUE = re.compile(any_whole_words(lambda pack: pack.personal.phones), re.I)
_LOCAL = re.compile(r"(?<![a-zA-Z\d_.,:/+#-])\(?\d(?:[ ()\-/.\u00a0]{0,3}\d){6,13}(?![a-zA-Z\d_]|[-.,:/]\d)")
#: Maximum distance between an announcement and its telephone number.
MAX_CHARACTERS_TO_PHONE = 48
#: Whoever calls pays nothing, so it is an organisation's.
_FREE = re.compile(r"0 ?80[0-58](?!\d{0,1}[/-])")
_DATE_LIKE = re.compile(r"(?:19|20)\d\d[-./ ]?(?:0\d|1[0-2])[-./ ]?[0-3]\d|[0-3]?\d[-./][01]?\d[-./](?:19|20)\d\d")
_SENTENCE_END = re.compile(r"(?<=\w{4})[.!?](?=\s|$)|[\n。！？]")
_FUNCTION = FUNCTION_WORDS - {"me", "info", "contact"}
#: Public DNS servers.
_RESOLVERS = frozenset(("8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9"))
_STREET = re.compile(
    "|".join(
        rf"(?:(?<!\w)(?:{street}))" for street in collect_for_masking(lambda pack: pack.personal.streets, spaced=True)
    )
)
_CJK_STREET = re.compile(alternation(collect_for_masking(lambda pack: pack.personal.streets, spaced=False)))
# The rest of a street address: flat, postcode and town; a town alone is not an address.
_TOWN = re.compile(
    r"(?:,? \d{1,2}\.?[ºª°](?: [a-z]{1,4}\.?)?)?(?:,? (?:Apt|Suite|Ste|Unit|Flat|Fl|#)\.? ?#?\w{1,6})?"
    r"(?:,? (?:[A-Z]-)?\d{4,6}(?:-\d{3,4})? [^\W\d_][\w'’-]{1,30}(?: [A-Z][\w'’-]{1,30}){0,2}"
    r"|(?:, [A-Z][\w'’.-]{1,30}(?: [A-Z][\w'’.-]{1,30}){0,2}){1,2},? "
    r"(?:[A-Z]{2},? \d{5}(?:-\d{4})?|[A-Z]{1,2}\d[\dA-Z]? ?\d[A-Z]{2}|\d{4,6}))?"
)
_IP4 = re.compile(r"(?<![a-zA-Z\d_./:-])(?:\d{1,3}\.){3}\d{1,3}(?![a-zA-Z\d_/-]|\.\d|:\d{6})")
_IP6 = re.compile(
    r"(?<![a-zA-Z\d_:.])(?=[0-9a-f:]{0,40}:[0-9a-f]{0,4}:)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:/])", re.I
)
# Four digits with dots number a section or a version: nobody's address is so short.
_ONE_DIGIT_EACH = re.compile(r"\d(?:\.\d){3}")
_VERSION = re.compile(
    r"(?:§|sections?|clause|chapter|abschnitt|kapitel|v|ver\.?|version|firmware|release|build|driver|api|sdk)\W{0,2}$",
    re.I,
)

#: At least this many number words in a row that begin with a zero or a plus are a telephone number.
MIN_NUMBER_WORDS = 5
#: And at least this many digits in words that are not counted in order are a number of a person or a card.
MIN_SPOKEN_DIGITS = 9

_DEGREES = r"-?\d{1,3}\.\d{5,12}"
_COORDINATES = re.compile(
    rf"(?<![\w.=-])(?P<decimal>{_DEGREES}(?:,\s?|\s?;\s?){_DEGREES})(?!\w|\.\d|\s?[%€$])"
    rf"|(?<=[?&/@=])(?P<link>{_DEGREES},{_DEGREES})"
    rf"|\blat\w{{0,5}}\W{{1,3}}(?P<named>{_DEGREES}\W{{1,3}}(?:lng|lon)\w{{0,6}}\W{{1,3}}{_DEGREES})"
    r"|(?P<signed>[NS]?\s?\d{1,2}°\s?\d{1,2}(?:[.,′'’]\s?\d{1,6}(?:[.,]\d{1,4})?)?[″\"′'’]{0,2}\s?[NS]?,?\s?[EWO]?\s?\d{1,3}°\s?\d{1,2}"
    r"(?:[.,′'’]\s?\d{1,6}(?:[.,]\d{1,4})?)?[″\"′'’]{0,2}\s?[EWO]?)",
    re.I,
)
# An account on a machine: "ssh -p 2222 deploy@web1.acme.net", "scp app.tgz deploy@web1.acme.net:/srv".
MAX_CHARACTERS_TO_COMMAND = 160
_REMOTE = re.compile(r"(?<![\w-])(?:ssh|scp|sftp|rsync|mosh|sshfs) [^\n;|]*$")
_MESSENGER = re.compile(
    r"(?:wa\.me/|whatsapp\.com/send/?\?phone=|t\.me/|signal\.me/#p/)(?P<value>\+?\d{7,15})(?!\d)", re.I
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

# "su móvil es el seis uno dos, cuarenta y cuatro, cero siete": after its name also with tens.
_WORDS_AFTER_CUE = re.compile(
    rf"(?:{_PHONE_CUE.pattern})[^\n.!?\d]{{0,24}}? "
    rf"(?P<value>(?:(?:{_SPOKEN})(?:\w{{1,3}} (?=(?:{_SPOKEN})))?){{{MIN_NUMBER_WORDS},24}})",
    re.I,
)

# "four seven one six, nine one two three …": nobody counts like that.
_SPOKEN_DIGITS = re.compile(
    rf"(?<![\w-])(?:(?:{alternation(map(re.escape, DIGITS))})[ ,-]{{1,2}}){{{MIN_SPOKEN_DIGITS - 1},24}}"
    rf"(?:{alternation(map(re.escape, DIGITS))})(?![\w-])",
    re.I,
)

_PHONE_CUES = Patterns([(_PHONE_CUE, None)])
_PATTERNS = Patterns(
    (pattern, None)
    for pattern in (
        _SPELT_EMAIL,
        _INTERNATIONAL,
        _AMERICAN,
        _GROUPED,
        _STREET,
        _CJK_STREET,
        _COORDINATES,
        _MESSENGER,
        _IN_WORDS,
        _WORDS_AFTER_CUE,
        _SPOKEN_DIGITS,
        _IP4,
        _IP6,
    )
)


def find(text: str) -> Iterator[SecretSpan]:
    matches = _PATTERNS.finder(text)
    yield from _emails(text, matches)
    yield from _phones(text, matches)
    for pattern in (_STREET, _CJK_STREET):
        for match in matches(pattern):
            town = _TOWN.match(text, match.end())
            yield SecretSpan(match.start(), town.end() if town else match.end(), "address")
    for match in matches(_COORDINATES):
        yield SecretSpan(*match.span(match.lastgroup or 0), "address")
    yield from (SecretSpan(*match.span("value"), "phone number") for match in matches(_WORDS_AFTER_CUE))
    for pattern in (_MESSENGER, _IN_WORDS):
        yield from (SecretSpan(*match.span("value"), "phone number") for match in matches(pattern))
    yield from _spoken_numbers(matches(_SPOKEN_DIGITS))
    yield from _hosts(matches)


def _emails(text: str, matches: Finder) -> Iterator[SecretSpan]:
    if any(sign in text for sign in ("@", "＠", "%40")):
        for match in _EMAIL.finditer(text):
            if not _REMOTE.search(text, max(0, match.start() - MAX_CHARACTERS_TO_COMMAND), match.start()):
                yield SecretSpan(*match.span(), "e-mail address")
        yield from (SecretSpan(*match.span(), "e-mail address") for match in _PARTED_EMAIL.finditer(text))
    for match in matches(_SPELT_EMAIL):
        yield from _spelt_emails(match)


def _spoken_numbers(matches: Iterable[re.Match[str]]) -> Iterator[SecretSpan]:
    """Numbers spelled out digit by digit, except counting up or down."""
    for match in matches:
        digits = [DIGITS[word] for word in re.findall(r"[^\W\d_]+", match[0].casefold())]
        if len({later - earlier for earlier, later in pairwise(digits)}) > 2:
            yield SecretSpan(*match.span(), "phone number")


def _spelt_emails(match: re.Match[str]) -> Iterator[SecretSpan]:
    """``anna at example dot com``, but not "meet at noon. then" nor "at the dot com"."""
    names = re.split(r"[\s.]+", match[0].casefold())
    bracketed = match["at"].strip()[0] in "@([{<"
    signed = (
        bracketed
        or "." in match[0][: match.start("at") - match.start()]
        or (not match["dots"].startswith(".") and len(match["top"]) <= 6)
    )
    if signed and not any(name in _FUNCTION for name in (names[0], match["host"].casefold())):
        yield SecretSpan(*match.span(), "e-mail address")


def _phones(text: str, matches: Finder) -> Iterator[SecretSpan]:
    for pattern, region in ((_INTERNATIONAL, None), (_AMERICAN, "US")):
        for match in matches(pattern):
            if _is_phone(match[0], region):
                yield SecretSpan(*match.span(), "phone number")
    for match in matches(_GROUPED):
        if 9 <= sum(map(str.isdigit, match[0])) <= 12 and not _FREE.match(match[0]):
            yield SecretSpan(*match.span(), "phone number")
    for cue in before_numbers(_PHONE_CUES, text, MAX_CHARACTERS_TO_PHONE + 24):
        rest = text[cue.end() : cue.end() + MAX_CHARACTERS_TO_PHONE + 24]
        end = _SENTENCE_END.search(rest)
        number = _LOCAL.search(rest, 0, end.start() + 1 if end else len(rest))
        if number and number.start() <= MAX_CHARACTERS_TO_PHONE and _is_local_number(number[0]):
            yield SecretSpan(cue.end() + number.start(), cue.end() + number.end(), "phone number")


def _is_local_number(written: str) -> bool:
    """Whether it is like a national number (leading zero or bracket, or at least nine digits) and is not a date."""
    if _FREE.match(written) or len(set(re.findall(r"\d", written))) == 1:  # "000 000 000"
        return False
    return (written[0] in "(0٠۰" or sum(map(str.isdigit, written)) >= 9) and not _DATE_LIKE.match(written)


def _is_phone(written: str, region: str | None) -> bool:
    """Whether the number is valid or possible in its country's numbering plan; fictitious numbers are not."""
    import phonenumbers

    written = "+" + written[2:] if written.startswith("00") else written
    try:
        number = phonenumbers.parse(written, region)
    except phonenumbers.NumberParseException:
        return False
    if len(set(str(number.national_number))) == 1:  # a placeholder: "+34 000 000 000"
        return False
    if phonenumbers.number_type(number) == phonenumbers.PhoneNumberType.TOLL_FREE:  # of an organisation
        return False
    return (
        phonenumbers.is_possible_number(number)
        if region or (written.startswith("+") and re.search(r"[ ()./-]", written))
        else phonenumbers.is_valid_number(number)
    )


def _hosts(matches: Finder) -> Iterator[SecretSpan]:
    """IP addresses that may identify somebody; not of private networks or examples, nor versions or subnet masks."""
    for match in matches(_IP4):
        try:
            address = IPv4Address(match[0])
        except ValueError:
            continue
        if (
            address.is_global
            and match[0] not in _RESOLVERS
            and not _ONE_DIGIT_EACH.fullmatch(match[0])
            and not _VERSION.search(match.string, max(0, match.start() - 12), match.start())
        ):
            yield SecretSpan(*match.span(), "ip address")
    for match in matches(_IP6):
        try:
            if ip_address(match[0]).is_global and len(match[0]) > 6:
                yield SecretSpan(*match.span(), "ip address")
        except ValueError:
            continue
