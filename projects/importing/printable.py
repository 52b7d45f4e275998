"""Escape control characters in untrusted text and truncate it for the terminal."""


def printable(text: str, limit: int = 240) -> str:
    """``text`` as one line of at most ``limit`` characters, with unprintable characters escaped, such as ``\\x1b``."""
    escaped = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: limit + 1])
    return escaped if len(escaped) <= limit else f"{escaped[: limit - 1]}…"


def is_utf8(text: str) -> bool:
    """Whether the text can be encoded as UTF-8. It cannot if the input had invalid bytes, which became surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
