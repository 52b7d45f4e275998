"""Messages in one form for all protocols: as matching compares them and as memory records them. Pure."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

#: Text that clients add to a person's message, different each time: neither recorded nor compared.
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.S)
#: What a model thinks aloud before its answer: some clients send it back, others do not. Its first tag may be missing.
_THINKING = re.compile(r"(?:<think(?:ing)?>|\A).*?</think(?:ing)?>|<think(?:ing)?>.*", re.S)
#: Two answers with fewer words have too little in common to be one that was altered.
MIN_COMMON_WORDS = 5
#: The share of an answer's words that stay when a client alters it: shortens it, or renders it in another format.
MIN_COMMON_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``position`` is its index in the body; ``recorded`` is what memory stores, in OpenAI's chat format.

    ``non_text`` is a digest of its other parts (tool calls, pictures). ``item_id`` is the id that the upstream gave an
    answer; a message that is sent as such an id only has it as ``reference``.
    """

    role: str
    text: str = ""
    non_text: str = ""
    position: int = -1
    recorded: dict[str, Any] = field(default_factory=dict)
    item_id: str = ""
    reference: str = ""

    @property
    def fingerprint(self) -> str:
        """The hash it is compared by. Clients change white space, and turn a text into a list of parts.

        Of an answer only letters and digits count: clients also reformat its Markdown and leave out its thinking.
        """
        text = self.text if self.role != "assistant" else _letters(self.text)
        return sha256(
            "\0".join([self.role, " ".join(text.split()), self.non_text]).encode(errors="replace")
        ).hexdigest()

    @property
    def has_tool_calls(self) -> bool:
        """Whether it calls tools, so that its turn continues."""
        return bool(self.recorded.get("tool_calls"))


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request: the messages before its question, and those since (a tool loop).

    ``prefill`` is the beginning of the answer, written by the client.
    """

    before: tuple[Message, ...]
    question: Message
    since: tuple[Message, ...] = ()
    prefill: Message | None = None

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
    since, prefill = tuple(messages[position + 1 :]), None
    if since and since[-1].role == "assistant" and not since[-1].has_tool_calls and not since[-1].reference:
        since, prefill = since[:-1], since[-1]
    return ParsedRequest(tuple(messages[:position]), messages[position], since, prefill)


def _letters(text: str) -> str:
    answer = _THINKING.sub("", text)
    return "".join(re.findall(r"\w", answer)).casefold() or answer


def is_altered_answer(sent: str, recorded: str) -> bool:
    """Whether ``sent`` is the recorded answer as a client altered it: most words of the shorter are in the longer."""
    first, second = ({*re.findall(r"\w+", _THINKING.sub("", text).casefold())} for text in (sent, recorded))
    common, shorter = len(first & second), min(len(first), len(second))
    return common >= MIN_COMMON_WORDS and common >= MIN_COMMON_SHARE * shorter


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


def assistant_message(text: str, calls: Sequence[dict[str, Any]], position: int = -1, *, item_id: str = "") -> Message:
    """The model's message. ``calls`` are in OpenAI's chat format."""
    recorded = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    encoded = [[call["function"]["name"], parsed_arguments(call["function"]["arguments"])] for call in calls]
    return Message("assistant", text, json_digest(encoded), position, recorded, item_id)


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
