"""The mask that replaces a secret: ``[redacted: password]``. It looks like a markdown link but is not one."""

import re

MASK = re.compile(r"\[redacted: [^\[\]\n]{1,60}\]")
#: Lookahead for patterns that must not match a mask.
NO_MASK = r"(?!\[redacted: )"


def mask(kind: str) -> str:
    return f"[redacted: {kind}]"
