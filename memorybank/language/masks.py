"""What stands in place of a secret: ``[redacted: password]``. It looks like markdown and is none."""

import re

MASK = re.compile(r"\[redacted: [^\[\]\n]{1,60}\]")
#: Where a pattern must not take a mask for its own.
NO_MASK = r"(?!\[redacted: )"


def mask(kind: str) -> str:
    """The mask for one kind of secret."""
    return f"[redacted: {kind}]"
