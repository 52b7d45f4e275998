"""Find random-looking values that are public by what stands around them, so that no rule masks them.

Digests with the name of their algorithm, public keys and certificates, pictures, names of cloud resources, identifiers
of a vendor's objects, pinned packages and images, placeholders, and the values that vendors print in their manuals.
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
        (  # "i-0c4f7a19be2d83560": names of machines, disks and networks, short or long
            ("-",),
            r"(?<![\w/.-])(?!(?:[sp]k|key|tok\w{0,2}|sec\w{0,3}|pass|pw)-)[a-z]{1,12}-"
            r"(?:0[0-9a-f]{16}|(?=[a-f]{0,7}\d)(?=\d{0,7}[a-f])[0-9a-f]{8})(?![\w-])",
        ),
        (  # "price_1Nx7hT…": a vendor's events, customers and runs; what hands over access has other prefixes
            ("_",),
            r"(?<![\w/.-])(?:evt|event|sub|price|prod|cus|ch|py|pi|pm|si|in|ii|il|re|tr|po|src|card|acct|seti|req|txn|inv|ord"
            r"|order|usr|user|org|proj|prj|team|thread|run|step|asst|msg|resp|batch|file|dpl|bld|job|task|doc|page)"
            r"_[A-Za-z0-9]{8,64}(?![\w-])",
        ),
        (("SID", "Sid", "sid"), r"(?<![A-Za-z0-9])(?:AC|SM|MM|CA|PN|MG|IS|CH|IM|US|RE|CF)[0-9a-f]{32}(?!\w)"),
        (('id"',), r"[\"']id[\"']\s?:\s?[\"'][a-z]{2,10}_[A-Za-z0-9]{8,64}(?=[\"'])"),
        (
            ("@",),
            r"(?<![\w@/.-])[\w.-]{1,60}(?:/[\w.-]{1,60}){1,4}@(?:v\d[\w.]{0,20}|\d{1,4}(?:\.\d{1,4}){1,3}|[0-9a-f]{40})(?![\w.-]*\w)",
        ),
        (
            (":",),
            r"(?<![\w:/.-])[a-z][\w./-]{1,60}:v?\d{1,4}(?:\.\d{1,4}){0,3}(?:-(?:alpine|slim|bookworm|bullseye|buster|trixie|jammy|focal"
            r"|noble|jdk|jre|fpm|apache|management|lts)[\d.]{0,6}){1,3}(?![\w-])",
        ),
        (("xxxxxxxx", "XXXXXXXX"), r"(?<![A-Za-z0-9])[\w-]{0,24}?(?P<one>[xX])(?P=one){7,200}(?![A-Za-z0-9])"),
        # In a configuration, people put such a value in place of their own, or a secret that looks like it.
        (("EXAMPLE",), r"(?<![\w+/=:])(?<![=:] )[\w+/]{0,60}EXAMPLE(?:KEY)?(?![\w+/])"),
    )
)


def find(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each public value."""
    for hints, pattern in _PUBLIC:
        if any(hint in text for hint in hints):
            yield from (match.span() for match in pattern.finditer(text))
