"""Find keys and tokens in vendors' formats, with our own patterns and, where installed, with Kingfisher's rules."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from memorybank.language.prefilter import Patterns
from memorybank.safety.redaction.spans import SecretSpan

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<what>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-)){16,20000}-----END (?P=what)-----"
    r"|(?:\s{1,4}[\w-]{1,20}: [^\n]{1,80}){0,4}(?:\s{0,4}[A-Za-z0-9+/=]{16,})+)"
)
_FORMATS = (
    ("private key", _KEY_BLOCK),
    ("aws key", re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("jwt", re.compile(r"(?<![\w-])eyJ[\w-]{8,4096}\.eyJ[\w-]{4,8192}\.[\w-]{8,4096}")),
    ("telegram token", re.compile(r"(?:(?<![\w:])|(?<=/bot))\d{8,10}:AA[\w-]{33}(?![\w-])")),
    ("azure key", re.compile(r"(?<=AccountKey=)[A-Za-z0-9+/]{40,100}={0,2}")),
    ("azure secret", re.compile(r"(?<![\w~.-])[\w~.-]{3}[78]Q~[\w~.-]{31,34}(?![\w~-])")),
    ("slack webhook", re.compile(r"(?<=hooks\.slack\.com/services/)[\w/-]{20,80}")),
    ("private key", re.compile(r"(?<![\w])0x[0-9a-fA-F]{64}(?!\w)")),
    ("password hash", re.compile(r"\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2}|scrypt)\$[\w./$,=+-]{16,200}")),
    ("recovery key", re.compile(r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])")),
    ("wifi password", re.compile(r"(?<=;P:)(?:\\.|[^;\\\n]){1,64}(?=;)")),
    (
        "session",
        re.compile(
            # "trace_id=", "order_id=": a plain identifier, unless it is that of a session.
            r"(?!(?<=_id=)(?<!sion_id=)(?<!sess_id=)[0-9A-Fa-f-]{24,64}(?![\w%.~+/-]))"
            r"(?i:(?<=sid=|ion=|_id=|nid=|ken=|uth=|sso=))(?=[^;\s]{0,80}\d)[\w%.~+/-]{24,2048}(?=[;,\"']|\s|$)"
        ),
    ),
    (
        "licence key",
        re.compile(r"(?<![\w-])(?=[A-Z-]{0,28}\d)(?=[\d-]{0,28}[A-Z])(?:[A-Z\d]{5}-){4}[A-Z\d]{5}(?![\w-])"),
    ),
    ("mail key", re.compile(r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])")),
    ("teams webhook", re.compile(r"(?<=/IncomingWebhook/)[0-9a-f]{32}/[\w/-]{8,120}")),
    ("discord webhook", re.compile(r"(?<=/api/webhooks/)\d{15,22}/[\w-]{30,100}")),
    (
        "seed of a second factor",
        re.compile(
            r"(?<![\w-])(?=[A-Z ]{0,60}[2-7])(?=[2-7 -]{0,60}[A-Z])(?:(?=(?:[A-Z]{1,9}[2-7]){2})[A-Z2-7]{16}"
            r"|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}|[A-Z2-7]{24,64})(?![\w-])"
        ),
    ),
)
# Vendors' prefixes before random characters; also made-up and revoked keys, which Kingfisher ignores.
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk-(?=[\w-]{0,200}\d)[\w-]{24,256}|gh[opusr]_[A-Za-z0-9]{16,255}|github_pat_\w{30,255}|glpat-[\w-]{16,64}"
    r"|xox[abeoprs]-[\w-]{20,255}|xapp-[\w-]{20,255}|[rsp]k_(?:live|test)_\w{16,128}|whsec_\w{16,128}|AIza[\w-]{30,40}|ya29\.[\w-]{20,512}"
    r"|SG\.[\w-]{16,64}\.[\w-]{16,64}|npm_[A-Za-z0-9]{20,64}|hf_[A-Za-z0-9]{20,64}|pypi-[\w-]{32,512}|dop_v1_[0-9a-f]{32,64}|shp[a-z]{2}_\w{20,64}"
    r"|gsk_\w{30,64}|hv[sb]\.[\w-]{24,256}|dckr_pat_[\w-]{20,64}|AGE-SECRET-KEY-1[A-Z0-9]{50,64}|tskey-[\w-]{16,64}|lin_api_\w{24,64}|ntn_\w{24,64}"
    r"|key-[0-9a-f]{32}|EAA[A-Za-z0-9]{60,256}|dapi[0-9a-f]{32}|rnd_\w{20,64}|figd_[\w-]{24,64}|PMAK-[\w-]{24,80}|GOCSPX-[\w-]{20,40})"
)
_BEARER = re.compile(r"\b(?:bearer|basic)\s{1,4}(?P<value>[A-Za-z0-9._~+/-]{16,4096}={0,2})", re.I)

_PATTERNS = Patterns((pattern, None) for pattern in (*(pattern for _, pattern in _FORMATS), _PREFIXED, _BEARER))


def load() -> None:
    """Compile Kingfisher's rules now, so that the first text does not wait for it."""
    _scanner()


@cache
def _scanner() -> "Scanner | None":
    """Kingfisher's rules, compiled: 4 s the first time, then 0.3 s from its cache in the user's cache folder.

    None without the extra ``secrets``. The cache depends on the processor, so it cannot be shipped; running this
    package as a program fills it.
    """
    try:
        from kingfisher_sdk import Rules, Scanner
    except ModuleNotFoundError:
        return None
    return Scanner(Rules(confidence="medium"), base64=False)


def find(text: str) -> Iterator[SecretSpan]:
    yield from _by_rules(text)
    matches = _PATTERNS.finder(text)
    for kind, pattern in _FORMATS:
        yield from (SecretSpan(*match.span(), kind) for match in matches(pattern))
    yield from (SecretSpan(*match.span(), "api key") for match in matches(_PREFIXED))
    for match in matches(_BEARER):
        if any(character.isdigit() for character in match["value"]):
            yield SecretSpan(*match.span("value"), "bearer token")


def _by_rules(text: str) -> Iterator[SecretSpan]:
    if (scanner := _scanner()) is None:
        return
    findings = scanner.scan(text.encode())
    places = sorted(
        (finding.location["start_offset"], finding.location["end_offset"], finding.rule_id)
        for finding in findings
        if finding.visible
    )
    starts = _characters(text, [place[0] for place in places])
    ends = _characters(text, sorted(place[1] for place in places))
    for start, end, rule in places:
        kind = re.sub(r"[^a-z0-9]+", " ", rule.rsplit(".", 1)[-1].rsplit("/", 1)[-1].lower()).strip()
        yield SecretSpan(starts[start], ends[end], kind)


def _characters(text: str, offsets: list[int]) -> dict[int, int]:
    """UTF-8 offsets (ascending) → character offsets."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    data, positions, start, characters = text.encode(), {}, 0, 0
    for offset in offsets:
        characters += len(data[start:offset].decode("utf-8", "ignore"))
        start, positions[offset] = offset, characters
    return positions
