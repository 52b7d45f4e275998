"""Words of others on a terminal: no sign that steers it, and an end."""


def printable(text: str, limit: int = 240) -> str:
    """``text`` on one line of at most ``limit`` characters; what cannot be seen is spelt out, as ``\\x1b``."""
    seen = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text[: limit + 1])
    return seen if len(seen) <= limit else f"{seen[: limit - 1]}…"


def is_utf8(text: str) -> bool:
    """Whether the bytes it was made of were; those that were not came in as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
