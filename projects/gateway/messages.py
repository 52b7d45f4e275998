"""Messages in one form for all protocols: as matching compares them and as memory records them. Pure."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

#: Text that clients add to a person's message, different each time: neither recorded nor compared.
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.S)


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``position`` is its index in the body; ``recorded`` is what memory stores, in OpenAI's chat format.

    ``non_text`` is a digest of its other parts (tool calls, pictures).
    """

    role: str
    text: str = ""
    non_text: str = ""
    position: int = -1
    recorded: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """The hash it is compared by. Clients change white space, and turn a text into a list of parts."""
        return sha256(
            "\0".join([self.role, " ".join(self.text.split()), self.non_text]).encode(errors="replace")
        ).hexdigest()

    @property
    def has_tool_calls(self) -> bool:
        """Whether it calls tools, so that its turn continues."""
        return bool(self.recorded.get("tool_calls"))


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request: the messages before its question, and those since (a tool loop)."""

    before: tuple[Message, ...]
    question: Message
    since: tuple[Message, ...] = ()

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The messages recorded between question and answer."""
        return [message.recorded for message in self.since if message.recorded]


def parse_request(messages: Sequence[Message]) -> ParsedRequest | None:
    """The turn in progress, which begins at the newest user message; None if there is none."""
    position = next(
        (position for position in reversed(range(len(messages))) if messages[position].role == "user"), None
    )
    if position is None:
        return None
    return ParsedRequest(tuple(messages[:position]), messages[position], tuple(messages[position + 1 :]))


def without_reminders(text: str) -> str:
    """The text without the reminders that clients add."""
    return _REMINDER.sub("", text).strip() if "<system-reminder>" in text else text


def user_message(text: str, other_parts: Iterable[Any], position: int) -> Message | None:
    """A person's message; None if they wrote nothing in it. ``other_parts`` are those that are not text."""
    words, attachments = without_reminders(text), list(other_parts)
    if not words and not attachments:
        return None
    placeholders = [{"type": str(part.get("type", "attachment"))} for part in attachments if isinstance(part, dict)]
    recorded = {"role": "user", "content": placeholders} if placeholders else {}
    return Message("user", words, json_digest(attachments), position, recorded)


def assistant_message(text: str, calls: Sequence[dict[str, Any]], position: int = -1) -> Message:
    """The model's message. ``calls`` are in OpenAI's chat format."""
    recorded = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    encoded = [[call["function"]["name"], parsed_arguments(call["function"]["arguments"])] for call in calls]
    return Message("assistant", text, json_digest(encoded), position, recorded)


def tool_message(text: str, call_id: str, other_parts: Iterable[Any] = (), position: int = -1) -> Message:
    """A tool's result."""
    recorded = {"role": "tool", "tool_call_id": call_id, "content": text or "[no text]"}
    return Message("tool", text, json_digest(list(other_parts)), position, recorded)


def tool_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A tool call in OpenAI's chat format."""
    encoded = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name or ""), "arguments": encoded}}


def parsed_arguments(encoded: str) -> Any:
    """A tool call's arguments as values, because clients reformat their JSON."""
    try:
        return json.loads(encoded) if encoded else {}
    except (ValueError, RecursionError):
        return encoded


def json_digest(value: Any) -> str:
    """A digest of a JSON value that does not depend on its formatting; "" for an empty value."""
    if not value:
        return ""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(errors="replace")).hexdigest()


def split_content(content: Any, kinds: Collection[str] = ("text",)) -> tuple[str, list[Any]]:
    """Split a message's content (a string or a list of parts) into its text and its other parts."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return "", []
    text_parts = [part for part in content if _is_text(part, kinds)]
    other_parts = [part for part in content if not _is_text(part, kinds) and isinstance(part, dict)]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in text_parts), other_parts


def _is_text(part: Any, kinds: Collection[str]) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in kinds)


def append_text(content: Any, words: str, kind: str = "text") -> Any:
    """Append ``words`` to a message's content, as a part if the content is a list of parts."""
    if isinstance(content, list):
        return [*content, {"type": kind, "text": words}]
    return f"{content}\n\n{words}" if content else words
