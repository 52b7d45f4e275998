"""Claude's account export: a zip with ``conversations.json``, each conversation a list of messages with parents."""

from collections.abc import Iterable, Mapping
from typing import Any

from . import tree
from .conversation import ExportedConversation, Item, Read, identifier, moment, read_each, require, sequence, text

ROLE_BY_SENDER = {"human": tree.USER, "assistant": tree.ASSISTANT}


def recognises(item: Mapping[str, Any]) -> bool:
    return "chat_messages" in item


def read(items: Iterable[Item]) -> Read:
    return read_each(items, _conversation)


def _conversation(item: Mapping[str, Any]) -> ExportedConversation:
    began = moment(item.get("created_at"), "created_at")
    messages: list[tree.ExportedMessage] = []
    for message in sequence(item, "chat_messages"):
        require(message, Mapping, "chat_messages", "list of objects")
        before = messages[-1].id if messages else ""  # older exports have no parent ids
        messages.append(
            tree.ExportedMessage(
                identifier(message, "uuid"),
                text(message, "parent_message_uuid") if "parent_message_uuid" in message else before,
                ROLE_BY_SENDER.get(text(message, "sender"), ""),
                _said(message),
                moment(message.get("created_at"), "created_at", began),
                files=len(message.get("attachments") or ()) + len(message.get("files") or ()),
            )
        )
    return tree.conversation(identifier(item, "uuid"), text(item, "name"), messages)


def _said(message: Mapping[str, Any]) -> str:
    """The text that users see, without reasoning and tool calls."""
    if not message.get("content"):
        return text(message, "text")
    blocks = [require(block, Mapping, "content", "list of objects") for block in sequence(message, "content")]
    return "\n\n".join(text(block, "text") for block in blocks if block.get("type") == "text" and block.get("text"))
