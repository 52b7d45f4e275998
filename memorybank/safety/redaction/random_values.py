"""Find machine-made secrets of any vendor by shape and place: in assignments, in links, after prefixes, or alone."""

import re
from collections.abc import Iterator

from memorybank.language import collect_for_masking, literals
from memorybank.language.prefilter import Patterns
from memorybank.safety.redaction.shapes import is_random
from memorybank.safety.redaction.spans import SecretSpan

_KEYS = literals(word for word in collect_for_masking(lambda pack: pack.secrets.key_words) if word.isalpha())
# "acm_live_Zq…", "pk-Qf…-prod": a prefix in small letters before random characters.
_PREFIXED = re.compile(r"(?<![\w/.-])(?:[a-z]{2,10}[_-]){1,3}(?P<value>[A-Za-z0-9]{20,128})(?![A-Za-z0-9/]|\.\w)")
# "BRAVO_INGEST=20fb…", but not the hash of a commit or a file.
_VARIABLE = re.compile(
    r"(?<![\w-])(?![A-Z0-9_]{0,40}(?:SHA|HASH|MD5|COMMIT|DIGEST|REV|SUM|UUID|_ID=))[A-Z][A-Z0-9_]{3,40}=[\"']?"
    r"(?P<value>[A-Za-z0-9+/_-]{32,256}={0,2})"
)
# A link that grants access: a word in its path or query says so, and a random part follows.
_LINK = re.compile(
    r"https?://[^\s?#\"'<>]{0,200}?(?:"
    r"(?:reset|magic|invit|verif|confirm|(?:log|sign)[-_]?in|\w{0,6}auth|\w{0,6}sso|passw|\w{0,6}token|\w{0,6}session|activat|unlock|web_?hook|[/.]private(?=/)|[/.]ical)"
    r"[^\s\"'<>]{0,80}?[/=]|/l/)(?P<value>[\w~.-]{16,256})",
    re.I,
)
_BARE = re.compile(r"(?<![\w/+.=@:#-])(?P<value>[A-Za-z0-9+/]{24,512}={0,2})(?![\w/+=@-]|\.\w)")
_PART = re.compile(rf"(?<![^\W_])(?:{_KEYS})[^\n]{{0,24}}?[\s:(](?P<value>[A-Za-z0-9]{{12,64}})(?!\w|[/.-]\w)", re.I)
_PART_BEFORE = re.compile(rf"(?<![\w/.-])(?P<value>[A-Za-z0-9]{{12,64}})\s?\((?:\w{{1,12}} )?(?:{_KEYS})\)", re.I)
# A value between a colon and the end of the line may be part of a key that another message announced.
_PART_ALONE = re.compile(
    r"[:：]\s{1,2}(?:…|\.{3}|[\"'`“„«])?(?P<value>[A-Za-z0-9]{16,64})(?:…|\.{3}|[\"'`”“»])?\.?$", re.M
)
# A message that is nothing but a random value was pasted to hand it over. 40 digits are the hash of a commit.
_ALONE = re.compile(r"\A\s{0,4}[\"'`]?(?P<value>[A-Za-z0-9+/_.~-]{20,512}={0,2})[\"'`]?\s{0,4}\Z")
# The same in a paragraph of its own: "here you go:", the value, "that's the one for the weather".
_PARAGRAPH = re.compile(
    r"(?:\A|\n[ \t]{0,8}\n)[ \t]{0,4}(?P<value>[A-Za-z0-9+/_.~-]{20,512}={0,2})[ \t]{0,4}(?=\n[ \t]{0,8}\n|\n?\Z)"
)
# The same in a line of its own, also after the name of its speaker, where the text around it tells of a key. Slashes
# are common in base64, so that it may look like a path.
_LINE = re.compile(r"^(?:[^\n:]{1,24}:)?[ \t]{0,4}(?P<value>[A-Za-z0-9+/_-]{40,512}={0,2})[ \t]{0,4}$", re.M)
_NEAR_KEY = re.compile(_KEYS, re.I)
# Words near a value that everybody may know.
_PUBLIC_NAME = re.compile(
    r"(?<![a-z])(?:sha|md5|hash|digest|check|finger|commit|rev|merge|bisect|trace|span|request|corr|etag|uuid|guid|id(?![a-z])"
    r"|image|container|layer|build)",
    re.I,
)
#: How far such a word may stand from a value.
MAX_CHARACTERS_TO_NAME = 160
# "MTk4….GX2….HCV…": parts in base64, joined by dots, as tokens of bots have them.
_DOTTED = re.compile(r"(?<![\w/.=@+-])(?P<value>[\w-]{20,128}(?:\.[\w-]{5,512}){1,3})(?![\w@/(-]|\.\w)")
# Patterns, grouped by what their values must be like to count as secrets.
_MIXED_AND_RANDOM = (_PREFIXED, _LINK, _BARE)
_MIXED_PARTS = (_PART, _PART_BEFORE, _PART_ALONE)

_PATTERNS = Patterns((pattern, None) for pattern in (*_MIXED_AND_RANDOM, _VARIABLE, *_MIXED_PARTS))


def find(text: str) -> Iterator[SecretSpan]:
    matches = _PATTERNS.finder(text)
    for pattern in (*_MIXED_AND_RANDOM, _VARIABLE, *_MIXED_PARTS):
        for match in matches(pattern):
            if _is_secret(pattern, match["value"]):
                yield SecretSpan(*match.span("value"), "secret")
    yield from _dotted(text)
    yield from _in_paragraphs(text)
    yield from _in_lines(text)
    alone = _ALONE.match(text)
    if alone and _is_handed_over(alone["value"]):
        yield SecretSpan(*alone.span("value"), "secret")


def _dotted(text: str) -> Iterator[SecretSpan]:
    for match in _DOTTED.finditer(text):
        parts = match["value"].split(".")
        if sum(_is_mixed(part) and is_random(part) for part in parts) > 1:
            yield SecretSpan(*match.span("value"), "secret")


def _in_paragraphs(text: str) -> Iterator[SecretSpan]:
    """Random values in paragraphs of their own, unless a word near them says that they are public."""
    for match in _PARAGRAPH.finditer(text):
        near = text[max(0, match.start() - MAX_CHARACTERS_TO_NAME) : match.end() + MAX_CHARACTERS_TO_NAME]
        if _is_handed_over(match["value"]) and not _PUBLIC_NAME.search(near.replace(match["value"], "")):
            yield SecretSpan(*match.span("value"), "secret")


def _in_lines(text: str) -> Iterator[SecretSpan]:
    """Long random values in lines of their own, near a word for a key."""
    for match in _LINE.finditer(text):
        value = match["value"]
        before = text[max(0, match.start("value") - MAX_CHARACTERS_TO_NAME) : match.start("value")]
        near = before + text[match.end() : match.end() + MAX_CHARACTERS_TO_NAME]
        parts = len(re.findall(r"\d+", value))
        if (
            parts > 2
            and re.search(r"[A-Z]", value)
            and re.search(r"[a-z]", value)
            and not re.search(r"[a-z]{8}|[A-Z]{8}|^/", value)
            and _NEAR_KEY.search(near)
            and not _PUBLIC_NAME.search(near)
        ):
            yield SecretSpan(*match.span("value"), "secret")


def _is_secret(pattern: re.Pattern[str], value: str) -> bool:
    if pattern is _LINK and re.fullmatch(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,}", value):
        return True
    if pattern is _VARIABLE:
        return bool(re.search(r"\d", value) and re.search(r"[A-Za-z]", value))
    is_odd = (
        is_random(value.rstrip("=")) if pattern in _MIXED_AND_RANDOM else not re.search(r"[a-z]{5}|[A-Z]{5}", value)
    )
    return is_odd and (pattern is _LINK or _is_mixed(value))


def _is_handed_over(value: str) -> bool:
    """Whether a value that stands alone is a key."""
    is_key = _is_mixed(value) and is_random(value.rstrip("="))
    return is_key or bool(re.fullmatch(r"[0-9a-f]{32}|[0-9a-f]{48,}", value))


def _is_mixed(value: str) -> bool:
    """Small and capital letters, and digits in several places."""
    has_cases = re.search(r"[a-z]", value) and re.search(r"[A-Z]", value)
    return bool(has_cases) and len(re.findall(r"\d+", value)) > 1
