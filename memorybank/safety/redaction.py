"""Secrets and personal data → masks such as ``[redacted: phone number]``, before any model sees a text.

Formats of keys and tokens are Kingfisher's business (488 vendor rules, linear time), phone numbers
Google's, card and account checksums python-stdnum's. Ours is what people type in a chat: passwords
in sentences, in links and in assignments. A mask too many harms memory: when in doubt it stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from memorybank.language import either, every, spelt, whole

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

PASSES = 5  # a mask may lay bare what its neighbour hid; measured: two passes settle everything


@dataclass(frozen=True, slots=True)
class Redacted:
    """The masked text, and the kinds of what was masked: one each, sorted."""

    text: str
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: str


def redact(text: str, *, personal: bool = True) -> Redacted:
    """Mask secrets always, and personal data if ``personal``. Idempotent; linear in ``len(text)``.

    Lone surrogates become "?".
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    found: set[str] = set()
    for _ in range(PASSES):
        before = text
        text = _mask(text, [*_link_passwords(text), *_vendor_secrets(text), *_secrets(text)], found)
        if personal:
            text = _mask(text, list(_personal(text)), found)
        if text == before:
            break
    return Redacted(text, tuple(sorted(found)))


def _mask(text: str, spans: list[_Span], found: set[str]) -> str:
    """Replace each span; where spans overlap, the first and longest names the whole."""
    parts, at = [], 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start >= at:
            parts += [text[at : span.start], f"[redacted: {span.kind}]"]
            found.add(span.kind)
        at = max(at, span.end)
    return "".join(parts) + text[at:] if parts else text


# Secrets ------------------------------------------------------------------------------------------


@cache
def _scanner() -> "Scanner":
    """Kingfisher's rules, compiled: 4 s the first time, then 0.3 s from its cache in the user's cache folder.

    The cache is for one kind of processor and cannot be shipped; ``python -m memorybank.safety.redaction`` fills it.
    """
    from kingfisher_sdk import Rules, Scanner

    return Scanner(Rules(confidence="medium"), base64=False)


def _vendor_secrets(text: str) -> Iterator[_Span]:
    """Keys and tokens in the formats of their vendors."""
    findings = _scanner().scan(text.encode())
    places = sorted(
        (finding.location["start_offset"], finding.location["end_offset"], finding.rule_id)
        for finding in findings
        if finding.visible
    )
    starts = _characters(text, [place[0] for place in places])
    ends = _characters(text, sorted(place[1] for place in places))
    for start, end, rule in places:
        kind = re.sub(r"[^a-z0-9]+", " ", rule.rsplit(".", 1)[-1].rsplit("/", 1)[-1].lower()).strip()
        yield _Span(starts[start], ends[end], kind)


def _characters(text: str, offsets: list[int]) -> dict[int, int]:
    """UTF-8 offsets (ascending) → character offsets."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    data, known, at, characters = text.encode(), {}, 0, 0
    for offset in offsets:
        characters += len(data[at:offset].decode("utf-8", "ignore"))
        at, known[offset] = offset, characters
    return known


_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<what>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-)){0,20000}-----END (?P=what)-----|(?:\s{0,4}[A-Za-z0-9+/=]{32,})*)"
)
_FORMATS = (
    ("private key", _KEY_BLOCK),
    ("aws key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])")),
    ("jwt", re.compile(r"(?<![\w-])eyJ[\w-]{8,4096}\.eyJ[\w-]{4,8192}\.[\w-]{8,4096}")),
    ("telegram token", re.compile(r"(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])")),
    ("azure key", re.compile(r"(?<=AccountKey=)[A-Za-z0-9+/]{86}==")),
)
_SK = re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{32,}")
_BEARER = re.compile(r"\b(?:bearer|basic)\s{1,4}(?P<value>[A-Za-z0-9._~+/-]{16,4096}={0,2})", re.I)
_IN_LINK = re.compile(r"://[^\s:/@?#\[\]]{0,128}:(?P<value>[^\s/@\[\]]{1,256})@(?=[\w\[])")

_PASSWORD = spelt(every(lambda pack: pack.secrets.passwords))
_KEY = either(every(lambda pack: pack.secrets.keys))
_SAYS, _CJK_SAYS = (either(every(lambda pack: pack.secrets.says, spaced=spaced)) for spaced in (True, False))
_ASSIGNED = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<secret>{_KEY}))(?:[_-]\w{{1,20}})?[\"'`]?\s{{0,4}}"
    rf"(?P<sign>:=|=>|=|:|：|\s(?:{_SAYS})\s|{_CJK_SAYS})"
    r"\s{0,4}(?P<quote>[\"'`“«]?)(?P<value>[^\s\"'`“”«»,;<>()\[\]{}，。；]{4,512})(?P<closed>[\"'`”»]?)",
    re.I,
)
# One of these is in whatever _ASSIGNED finds. Looking for them is a hundred times faster than looking for it.
_ASSIGNABLE = every(lambda pack: (*pack.secrets.passwords, *pack.secrets.key_words))
_HOLLOW = re.compile(
    r"(?:[*x•.…_-]+|\$.*|%.*|os\.|env\.|process\.|get|config\.|settings\.|https?:.*|none|null|true|false|undefined)",
    re.I,
)
_NAMES_SOMETHING = re.compile(
    r"(?:[A-Z]{2,10}-\d+|v?\d+(?:[.,:/-]\d+)*[a-z%€$]{0,3}|(?:sha|md|base|utf|rsa|aes|ed|argon|scrypt|bcrypt|oauth|x|hs|rs|es)-?\d+\w{0,4})"
    r"[.!?]?",
    re.I,
)


def _link_passwords(text: str) -> Iterator[_Span]:
    yield from (_Span(*match.span("value"), "password") for match in _IN_LINK.finditer(text))


def _secrets(text: str) -> Iterator[_Span]:
    for kind, pattern in _FORMATS:
        yield from (_Span(*match.span(), kind) for match in pattern.finditer(text))
    yield from (_Span(*match.span(), "api key") for match in _SK.finditer(text) if _has_digit(match[0]))
    for match in _BEARER.finditer(text):
        if _has_digit(match["value"]):
            yield _Span(*match.span("value"), "bearer token")
    folded = text.casefold().replace("’", "'")
    if any(word in folded for word in _ASSIGNABLE):
        yield from (span for match in _ASSIGNED.finditer(text) if (span := _assigned(match)))


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _assigned(match: re.Match[str]) -> _Span | None:
    """``password=hunter2`` and “the password is Summer24!”, but not “password: ask Priya”."""
    value = match["value"].rstrip(".!?:") if not match["closed"] else match["value"]
    if _HOLLOW.fullmatch(value) or value.startswith(("$", "os.", "env.", "process.", "config.", "settings.")):
        return None
    spelled = match["sign"] in ("=", ":=", "=>") or bool(match["quote"] and match["closed"])
    if not _looks_secret(value, spelled=spelled, password=bool(match["password"])):
        return None
    start = match.start("value")
    return _Span(start, start + len(value), "password" if match["password"] else "secret")


def _looks_secret(value: str, *, spelled: bool, password: bool) -> bool:
    """Prose after a colon is let through unless it mixes what words do not mix."""
    letters = sum(character.isalpha() for character in value)
    digits = sum(character.isdigit() for character in value)
    if _NAMES_SOMETHING.fullmatch(value):
        return password and spelled and len(value) >= 6 and not letters
    if spelled and (password or (digits and len(value) >= 8)):
        return True
    mixed = bool(letters and (digits or re.search(r"[^\w.'’/-]", value)))
    return mixed and len(value) >= (6 if password else 12)


# Personal data ------------------------------------------------------------------------------------

_EMAIL = re.compile(
    r"(?<![\w.+%-])(?!git@)[\w+%-](?:[\w.+%'-]{0,62}[\w+%-])?@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,6}[^\W\d_]{2,24}(?![\w@-])"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![a-z0-9])")
_CARD = re.compile(
    r"(?<![\w.,:/+-])(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|[245]\d\d)|35\d\d)([ -]?)\d{4}\1\d{4}\1\d{4}"
    r"(?![\w-]|[.,]\d)"
    r"|(?<![\w.,:/+-])3[47]\d\d([ -]?)\d{6}\2\d{5}(?![\w-]|[.,]\d)"
)
_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)[1-9](?:[ ().\-/\u00a0]{0,2}\d){6,14}(?!\d)")
_AMERICAN = re.compile(r"(?<![\w.+/-])(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}(?![\w-]|\.\d)")
_NUMBER_IS = either(
    [*every(lambda pack: pack.secrets.phone_number), *every(lambda pack: pack.secrets.says, spaced=True)]
)
_CUED = re.compile(
    rf"(?:{whole(lambda pack: pack.secrets.phones)})(?:\s(?:{_NUMBER_IS})\b){{0,2}}[\s.:：#]{{0,4}}"
    r"(?P<value>\(?0?\d(?:[ ()\-/.]{0,2}\d){6,13})(?![\d-]|[.,]\d)",
    re.I,
)
_DATE_LIKE = re.compile(r"(?:19|20)\d\d[-./ ]?(?:0\d|1[0-2])[-./ ]?[0-3]\d|[0-3]?\d[-./][01]?\d[-./](?:19|20)\d\d")


def _personal(text: str) -> Iterator[_Span]:
    yield from (_Span(*match.span(), "e-mail address") for match in _EMAIL.finditer(text))
    yield from _ibans(text)
    yield from _cards(text)
    yield from _phones(text)


def _ibans(text: str) -> Iterator[_Span]:
    from stdnum import iban

    for match in _IBAN.finditer(text):
        for end in range(len(match[0]), 14, -1):  # capitals after the number may have been read as part of it
            if match[0][end - 1 : end + 1].isalnum() and match[0][end : end + 1].isalnum():
                continue
            if iban.is_valid(match[0][:end]):
                yield _Span(match.start(), match.start() + end, "iban")
                break


def _cards(text: str) -> Iterator[_Span]:
    from stdnum import luhn

    for match in _CARD.finditer(text):
        if luhn.is_valid(re.sub(r"\D", "", match[0])):
            yield _Span(*match.span(), "card number")


def _phones(text: str) -> Iterator[_Span]:
    for pattern, region in ((_INTERNATIONAL, None), (_AMERICAN, "US")):
        for match in pattern.finditer(text):
            if _is_phone(match[0], region):
                yield _Span(*match.span(), "phone number")
    for match in _CUED.finditer(text):
        if not _DATE_LIKE.match(match["value"]):
            yield _Span(*match.span("value"), "phone number")


def _is_phone(written: str, region: str | None) -> bool:
    """Whether the number exists in the numbering plan of its country."""
    import phonenumbers

    written = "+" + written[2:] if written.startswith("00") else written
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(written, region))
    except phonenumbers.NumberParseException:
        return False


if __name__ == "__main__":
    redact("")
