"""A chat's title: the first line of its first message, unless somebody named the chat."""

from collections.abc import Sequence
from dataclasses import replace

from memorybank.services import NewOutput, Output

MAX_TITLE_CHARACTERS = 80


def title_of(message: str) -> str:
    """The first line of ``message``, of at most ``MAX_TITLE_CHARACTERS``, cut between words where it has spaces."""
    line = next(iter(message.strip().splitlines()), "").strip()
    if len(line) <= MAX_TITLE_CHARACTERS:
        return line
    words = line[:MAX_TITLE_CHARACTERS].rpartition(" ")[0].rstrip()
    return (words if len(words) > MAX_TITLE_CHARACTERS // 2 else line[: MAX_TITLE_CHARACTERS - 1]) + "…"


def titled(outputs: Sequence[NewOutput]) -> list[NewOutput]:
    """Add a title, the first line of the question, to the outputs of chats that none of the outputs names."""
    named = {new.chat_key for new in outputs if new.title}
    return [replace(new, title=_own(new)) if new.chat_key not in named else new for new in outputs]


def _own(new: NewOutput) -> str:
    return title_of(new.question) if new.status == Output.Status.OK else ""
