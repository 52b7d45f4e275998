"""ChatGPT's account export: a zip with ``conversations.json`` (or numbered parts), each conversation a tree."""

from collections.abc import Iterable, Mapping
from typing import Any

from . import tree
from .conversation import (
    ExportedConversation,
    Item,
    Read,
    identifier,
    mapping,
    moment,
    read_each,
    require,
    sequence,
    text,
)

#: Content types that users see. Other types are reasoning, searches, tool calls and custom instructions.
SHOWN_CONTENT = {"text", "multimodal_text"}


def recognises(item: Mapping[str, Any]) -> bool:
    return "mapping" in item


def read(items: Iterable[Item]) -> Read:
    return read_each(items, _conversation)


def _conversation(item: Mapping[str, Any]) -> ExportedConversation:
    began = moment(item.get("create_time"), "create_time")
    nodes = mapping(item, "mapping")
    messages = [_message(key, require(node, Mapping, "mapping", "object"), began) for key, node in nodes.items()]
    return tree.conversation(
        identifier(item, "conversation_id", "id"), text(item, "title"), messages, current=text(item, "current_node")
    )


def _message(key: str, node: Mapping[str, Any], began: Any) -> tree.ExportedMessage:
    parent = text(node, "parent")
    message = node.get("message")
    if message is None:  # the root of the tree
        return tree.ExportedMessage(key, parent, "", "", began)
    require(message, Mapping, "message", "object")
    metadata = message.get("metadata") or {}
    said, files = ("", 0) if _is_hidden(message, metadata) else _said(message)
    at = moment(message.get("create_time"), "create_time", began)
    return tree.ExportedMessage(
        key, parent, text(mapping(message, "author"), "role"), said, at, _model(metadata), files
    )


def _is_hidden(message: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    to_tool = text(message, "recipient") not in ("", "all")
    return to_tool or bool(metadata.get("is_visually_hidden_from_conversation"))


def _model(metadata: Mapping[str, Any]) -> str:
    return text(metadata, "model_slug")


def _said(message: Mapping[str, Any]) -> tuple[str, int]:
    """The text of a message, and the number of its pictures and files."""
    content = mapping(message, "content")
    if content.get("content_type") not in SHOWN_CONTENT:
        return "", 0
    texts, files = [], 0
    for part in sequence(content, "parts"):
        if isinstance(part, Mapping):  # a picture, or a transcript of speech
            spoken = text(part, "text")
            texts.append(spoken)
            files += not spoken
        elif part is not None:
            texts.append(require(part, str, "parts", "text"))
    return "\n\n".join(filter(None, texts)), files
