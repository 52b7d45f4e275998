"""The title of a chat that nobody named: the first line of its first message."""

MAX_TITLE_CHARACTERS = 80
#: Only the beginning of a message is read: it may have a million characters.
MAX_READ_CHARACTERS = 1_000


def title_of(message: str) -> str:
    """The first line of ``message``, of at most ``MAX_TITLE_CHARACTERS``, cut between words where it has spaces."""
    lines = message.lstrip()[:MAX_READ_CHARACTERS].splitlines()
    line = lines[0].rstrip() if lines else ""
    if len(line) <= MAX_TITLE_CHARACTERS:
        return line
    words = line[:MAX_TITLE_CHARACTERS].rpartition(" ")[0].rstrip()
    return (words if len(words) > MAX_TITLE_CHARACTERS // 2 else line[: MAX_TITLE_CHARACTERS - 1]) + "…"
