"""Messages in one form for all protocols: as matching compares them and as memory records them. Pure."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from .typed_words import Quotation, is_validation_error, part

#: A model's reasoning before its answer: some clients send it back, others do not. The opening tag may be missing.
_THINKING = re.compile(r"(?:<think(?:ing)?>|\A).*?</think(?:ing)?>|<think(?:ing)?>.*", re.S)
#: The white space of ASCII that ``str.split`` splits at, except the space; and that of the rest of Unicode.
_ASCII_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
_OTHER_SPACES = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_SPACES = re.compile("  +")
#: Two answers with fewer common words are not treated as one answer that a client altered.
MIN_COMMON_WORDS = 5
#: The minimum share of the shorter answer's words that the longer one has, too: clients shorten and reformat answers.
MIN_COMMON_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class GatewayMessage:
    """One message. ``position`` is its index in the body; ``recorded`` is what memory stores, in OpenAI's chat format.

    In a person's message, ``text`` is what they typed, and ``quoted`` is what their client added. ``non_text`` is a
    digest of the other parts (tool calls, pictures). ``item_id`` is the upstream's id of an answer; ``reference`` is
    such an id in a message that consists of it alone.
    """

    role: str
    text: str = ""
    non_text: str = ""
    position: int = -1
    recorded: dict[str, Any] = field(default_factory=dict)
    item_id: str = ""
    reference: str = ""
    quoted: tuple[Quotation, ...] = ()

    #: The hash used for comparison, computed once, because hashing reads the whole message.
    fingerprint: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute a fingerprint that does not change when a client reformats the message.

        Clients change white space, and turn a text into a list of parts. Of an answer only letters and digits count,
        because clients also reformat its Markdown and leave out its reasoning.
        """
        text = self.text if self.role != "assistant" else _letters(self.text)
        compared = "\0".join([self.role, single_spaced(text), self.non_text])
        object.__setattr__(self, "fingerprint", sha256(compared.encode(errors="replace")).hexdigest())

    @property
    def has_tool_calls(self) -> bool:
        """Whether it calls tools, so that its turn continues."""
        return bool(self.recorded.get("tool_calls"))

    @property
    def is_of_tool(self) -> bool:
        """Whether the message has a person's role but contains only tool results."""
        quoted = [quotation.role == "tool" for quotation in self.quoted]
        return self.role == "user" and not self.text and not self.recorded and bool(quoted) and all(quoted)


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request: the messages before its question, and those since (a tool loop).

    ``prefill`` is the beginning of the answer, written by the client.
    """

    before: tuple[GatewayMessage, ...]
    question: GatewayMessage
    since: tuple[GatewayMessage, ...] = ()
    prefill: GatewayMessage | None = None

    @property
    def question_is_stored(self) -> bool:
        """Whether the upstream stores the question, and the request has only results of tools for its turn."""
        return bool(not self.question.text and self.since and self.since[0].reference)

    @property
    def between(self) -> list[dict[str, Any]]:
        """The messages recorded between question and answer."""
        messages = [self.question, *self.since]
        recorded = [[message.recorded, *(quotation.recorded for quotation in message.quoted)] for message in messages]
        return [item for items in recorded for item in items if item]


def parse_request(messages: Sequence[GatewayMessage]) -> ParsedRequest | None:
    """Parse the turn in progress, which begins at the newest message of a person.

    None if there is no such message, unless results of tools continue a turn whose question the upstream stores.
    """
    messages = _with_feedback(messages)
    position = next(
        (position for position in reversed(range(len(messages))) if messages[position].role == "user"), None
    )
    if position is None:
        continues = len(messages) > 1 and messages[0].reference and messages[1].role == "tool"
        return ParsedRequest((), GatewayMessage("user"), tuple(messages)) if continues else None
    since, prefill = tuple(messages[position + 1 :]), None
    if since and since[-1].role == "assistant" and not since[-1].has_tool_calls and not since[-1].reference:
        since, prefill = since[:-1], since[-1]
    return ParsedRequest(tuple(messages[:position]), messages[position], since, prefill)


def _with_feedback(messages: Sequence[GatewayMessage]) -> list[GatewayMessage]:
    """Give the role ``feedback`` to messages that a program sends in a person's role to correct the model."""
    read: list[GatewayMessage] = []
    for message in messages:
        answer = read[-1] if read else None
        if answer and answer.role == "assistant" and (message.is_of_tool or _corrects(answer, message)):
            quoted = message.quoted or (Quotation("tool", "validation", message.text),)
            message = replace(message, role="feedback", text="", quoted=quoted)
        read.append(message)
    return read


def _corrects(answer: GatewayMessage, message: GatewayMessage) -> bool:
    """Whether a library reports that the structured ``answer`` is invalid."""
    structured = answer.text.lstrip().startswith(("{", "[", "```"))
    return message.role == "user" and structured and is_validation_error(message.text)


def single_spaced(text: str) -> str:
    """The text with one space in place of all white space between two words, and none at its ends.

    The same as ``" ".join(text.split())``, which makes a string of each word: a megabyte took 12 ms.
    """
    for space in _ASCII_SPACES:
        text = text.replace(space, " ")
    if not text.isascii():
        text = _OTHER_SPACES.sub(" ", text)
    return (_SPACES.sub(" ", text) if "  " in text else text).strip(" ")


def _letters(text: str) -> str:
    answer = _THINKING.sub("", text)
    return "".join(re.findall(r"\w", answer)).casefold() or answer


def is_altered_answer(sent: str, recorded: str) -> bool:
    """Whether ``sent`` is the recorded answer as a client altered it: most words of the shorter are in the longer."""
    first, second = ({*re.findall(r"\w+", _THINKING.sub("", text).casefold())} for text in (sent, recorded))
    common, shorter = len(first & second), min(len(first), len(second))
    return common >= MIN_COMMON_WORDS and common >= MIN_COMMON_SHARE * shorter


def user_message(
    text: str, other_parts: Iterable[Any], position: int, system_lines: Collection[str] = ()
) -> GatewayMessage | None:
    """A message in a person's role; None if it contains only a program's notes. ``other_parts`` are not text."""
    parted, attachments = part(text, system_lines), list(other_parts)
    if not parted.typed and not parted.quoted and not attachments:
        return None
    placeholders = [{"type": str(part.get("type", "attachment"))} for part in attachments if isinstance(part, dict)]
    recorded = {"role": "user", "content": placeholders} if placeholders else {}
    # Clients leave out quotations when they send a message again, so these are compared only if there is nothing else.
    compared = attachments or ([] if parted.typed else [quotation.text for quotation in parted.quoted])
    return GatewayMessage("user", parted.typed, json_digest(compared), position, recorded, quoted=parted.quoted)


def lines_of(system: str) -> frozenset[str]:
    """The lines of a system prompt, which clients repeat in a person's message."""
    return frozenset(line.strip() for line in system.splitlines()) - {""}


def assistant_message(
    text: str, calls: Sequence[dict[str, Any]], position: int = -1, *, item_id: str = ""
) -> GatewayMessage:
    """The model's message. ``calls`` are in OpenAI's chat format."""
    recorded = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    encoded = [[call["function"]["name"], parsed_arguments(call["function"]["arguments"])] for call in calls]
    return GatewayMessage("assistant", text, json_digest(encoded), position, recorded, item_id)


def tool_message(text: str, call_id: str, other_parts: Iterable[Any] = (), position: int = -1) -> GatewayMessage:
    """A tool's result."""
    recorded = {"role": "tool", "tool_call_id": call_id, "content": text or "[no text]"}
    return GatewayMessage("tool", text, json_digest(list(other_parts)), position, recorded)


def call_reference(conversation: str, call_id: str) -> str:
    """The name of a tool call in a conversation that the upstream stores."""
    return f"{conversation}\0{call_id}"


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
