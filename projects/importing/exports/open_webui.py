"""Open WebUI's export: a JSON list of one user's or all users' chats, each with a tree of messages."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from . import tree
from .conversation import (
    BadFieldError,
    ExportedConversation,
    Item,
    Read,
    identifier,
    mapping,
    moment,
    read_each,
    require,
    text,
)

#: Reasoning and tool calls, which its pages collapse.
FOLDED = re.compile(r'<details type="[^"]*".*?</details>\s*', re.DOTALL)


def recognises(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("chat"), Mapping)


def read(items: Iterable[Item]) -> Read:
    return read_each(items, _conversation)


def _conversation(item: Mapping[str, Any]) -> ExportedConversation:
    chat = mapping(item, "chat")
    began = moment(item.get("created_at") or chat.get("timestamp"), "created_at")
    history = mapping(chat, "history")
    messages = [_message(key, message, began) for key, message in mapping(history, "messages").items()]
    title = text(item, "title") or text(chat, "title")
    current, person = text(history, "currentId"), text(item, "user_id")
    return tree.conversation(identifier(item, "id"), title, messages, current=current, person=person)


def _message(key: str, message: Any, began: Any) -> tree.ExportedMessage:
    require(message, Mapping, "messages", "object")
    role, content = text(message, "role"), message.get("content") or ""
    if isinstance(content, list):  # a message with pictures
        content = "\n\n".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    if not isinstance(content, str):
        raise BadFieldError(f"content: must be a text, not {type(content).__name__}.")
    said = FOLDED.sub("", content) if role == tree.ASSISTANT else content
    at = moment(message.get("timestamp"), "timestamp", began)
    files = len(message.get("files") or ())
    return tree.ExportedMessage(key, text(message, "parentId"), role, said.strip(), at, text(message, "model"), files)
