"""LibreChat's export: one JSON object for each conversation, with its messages as a list or a tree."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import tree
from .conversation import (
    BadFieldError,
    ExportedConversation,
    Item,
    Read,
    identifier,
    moment,
    read_each,
    require,
    sequence,
    text,
)

#: The field with the messages: as a list, or nested.
LIST, NESTED = "messages", "messagesTree"


def recognises(item: Mapping[str, Any]) -> bool:
    return "conversationId" in item


def read(items: Iterable[Item]) -> Read:
    return read_each(items, _conversation)


def _conversation(item: Mapping[str, Any]) -> ExportedConversation:
    rows = sequence(item, NESTED if NESTED in item else LIST)
    messages = list(_messages(rows, ""))
    return tree.conversation(identifier(item, "conversationId"), text(item, "title"), messages)


def _messages(rows: Iterable[Any], parent: str) -> Iterator[tree.ExportedMessage]:
    waiting = deque((row, parent) for row in rows)
    while waiting:
        row, parent = waiting.popleft()
        require(row, Mapping, "messages", "list of objects")
        key = identifier(row, "messageId")
        at = moment(row.get("createdAt"), "createdAt")
        role = tree.USER if row.get("isCreatedByUser") is True else tree.ASSISTANT
        said = "" if row.get("error") is True else _said(row)
        above = text(row, "parentMessageId") or parent
        yield tree.ExportedMessage(key, above, role, said, at, text(row, "model"), len(row.get("files") or ()))
        waiting.extend((child, key) for child in row.get("children") or ())


def _said(row: Mapping[str, Any]) -> str:
    """The message's ``text``, or else the text parts of its ``content``."""
    if row.get("text") or not row.get("content"):
        return text(row, "text")
    texts = []
    for part in sequence(row, "content"):
        if isinstance(part, Mapping) and part.get("type") == "text":
            value = part.get("text")
            texts.append(text(value, "value") if isinstance(value, Mapping) else text(part, "text"))
        elif part is not None and not isinstance(part, Mapping):
            raise BadFieldError(f"content: must be a list of objects, not of {type(part).__name__}.")
    return "\n\n".join(filter(None, texts))
