"""Escape control characters in untrusted text and truncate it for the terminal."""


def printable(text: str, limit: int = 240) -> str:
    """``text`` on one line of at most ``limit`` characters; unprintable characters are escaped, as ``\\x1b``."""
    escaped = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: limit + 1])
    return escaped if len(escaped) <= limit else f"{escaped[: limit - 1]}…"


def is_utf8(text: str) -> bool:
    """Whether the text can be encoded as UTF-8: invalid input bytes have become lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
