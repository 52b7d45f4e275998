"""Find random-looking values that are public by what stands around them, so that no rule masks them.

Digests with the name of their algorithm, public keys and certificates, pictures, names of cloud resources, pinned
packages, and the values that vendors print in their manuals.
"""

import re
from collections.abc import Iterator

_BASE64 = r"[A-Za-z0-9+/=]"
# Each with substrings, one of which every match contains: most text has none, and is not searched.
_PUBLIC = tuple(
    (hints, re.compile(pattern))
    for hints, pattern in (
        (("ssh-", "ecdsa-", "@openssh.com"), rf"(?<!\S)[\w@.-]{{6,40}}\s{{1,2}}AAAA{_BASE64}{{20,4096}}"),
        (
            ("-----BEGIN ",),
            r"-----BEGIN (?P<what>(?:[A-Z0-9]{1,12} ){0,3}"
            r"(?:PUBLIC KEY(?: BLOCK)?|CERTIFICATE(?: REQUEST)?|SIGNATURE|CRL))-----"
            r"(?:[^-]|-(?!-)){0,20000}-----END (?P=what)-----",
        ),
        (
            ("sha", "SHA", "md5", "MD5", "blake", "h1:"),
            r"(?<![A-Za-z0-9])(?:[Ss][Hh][Aa]-?(?:1|224|256|384|512)|[Mm][Dd]5|blake[23][bs]?|h1)(?:sum)?"
            r"(?: ?\([^()\n]{1,80}\))?"
            rf"\s?[:=-]\s?{_BASE64}{{20,130}}(?![A-Za-z0-9+/])",
        ),
        (("data:",), rf"data:(?:image|audio|video|font)/[\w.+-]{{1,40}}(?:;[\w=-]{{1,30}}){{0,2}};base64,{_BASE64}*"),
        (  # what begins like a picture, a PDF or a font is one
            ("iVBORw0KGgo", "R0lGOD", "/9j/4", "JVBERi0", "UklGR", "PHN2Zy", "d09GM"),
            rf"(?<![A-Za-z0-9+/])(?:iVBORw0KGgo|R0lGOD[lh]|/9j/4|JVBERi0|UklGR|PHN2Zy|d09GM){_BASE64}*(?:\n{_BASE64}{{1,80}})*",
        ),
        (("arn:", "urn:"), r"(?<!\w)(?:arn|urn):[\w-]{1,40}:[^\s\"'<>,;()]{1,300}"),
        (("==",), r"(?<![\w=])[A-Za-z][\w.-]{0,60}(?:\[[\w,-]{1,60}\])?==v?\d{1,6}(?:\.\w{1,12}){1,4}(?![\w=])"),
        (("EXAMPLE",), r"(?<![\w+/])[\w+/]{0,60}EXAMPLE(?:KEY)?(?![\w+/])"),
    )
)


def find(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each public value."""
    for hints, pattern in _PUBLIC:
        if any(hint in text for hint in hints):
            yield from (match.span() for match in pattern.finditer(text))
