"""The interface of a protocol. Pure: JSON in, JSON out."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from projects.gateway.messages import GatewayMessage, append_text

JSONObject = dict[str, Any]
#: A longer value is a program's id and not the name of a person.
MAX_PERSON_CHARACTERS = 128
#: A larger token count of an upstream is no count.
MAX_TOKEN_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """The requested answer: the fields of a structured one, the number of tools, the token limit, and streaming.

    ``forces_tool``: the model must call a tool, so the call may be the whole answer. ``forces_upstream_tool``: it must
    call one of the upstream's own tools, such as web search, so the request is not a person's question.
    """

    fields: frozenset[str] = frozenset()
    tools: int = 0
    forces_tool: bool = False
    forces_upstream_tool: bool = False
    max_tokens: int | None = None
    streams: bool = False


@dataclass(slots=True)
class Answer:
    """An upstream's answer, read while it is forwarded. Token counts are None if it reports none.

    ``alternatives`` are other answers to the same request, from which the client may choose.
    """

    messages: list[GatewayMessage] = field(default_factory=list)
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""
    alternatives: list[list[GatewayMessage]] = field(default_factory=list)
    #: The id under which the upstream stores it, or "".
    stored_id: str = ""
    #: How far the upstream is with a stored answer, as it says; "" for other answers.
    state: str = ""

    @property
    def text(self) -> str:
        """The text of its messages."""
        return "\n\n".join(message.text for message in self.messages if message.text)

    @property
    def arguments(self) -> str:
        """The arguments of its tool calls: a structured answer, if the client forced them."""
        calls = [call for message in self.messages for call in message.recorded.get("tool_calls", [])]
        return "\n\n".join(call["function"]["arguments"] for call in calls)

    @property
    def in_background(self) -> bool:
        """Whether the upstream is still working on it, so that the client must ask for it later."""
        return self.state in ("queued", "in_progress")

    @property
    def unfinished(self) -> bool:
        """Whether it calls tools or is not there yet, so that the turn continues."""
        return self.in_background or any(message.has_tool_calls for message in self.messages)


class AnswerReader(ABC):
    """Reads one answer, event by event or as one body."""

    def __init__(self) -> None:
        self.model, self.error = "", ""
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.done = False
        #: The ids of what the upstream stores: the answer's own first, then those of its parts.
        self.ids: list[str] = []
        self.state = ""

    @property
    def complete(self) -> bool:
        """Whether the answer is complete, even if the stream ends without an end event."""
        return self.done

    @abstractmethod
    def event(self, data: JSONObject) -> None:
        """Read one event of a stream, and set ``done`` at the last."""

    @abstractmethod
    def read_body(self, data: JSONObject) -> None:
        """Read an answer that is not streamed."""

    @abstractmethod
    def messages(self) -> list[GatewayMessage]:
        """The messages so far, as the client will send them back."""

    def alternatives(self) -> list[list[GatewayMessage]]:
        """The messages of other answers to the same request."""
        return []

    def answer(self) -> Answer:
        """The answer read so far."""
        return Answer(
            self.messages(),
            self.model,
            self.prompt_tokens,
            self.completion_tokens,
            self.error,
            self.alternatives(),
            next(iter(self.ids), ""),
            self.state,
        )

    def note_model(self, data: JSONObject) -> None:
        """Keep the model's name, as the upstream reports it."""
        if isinstance(data.get("model"), str):
            self.model = data["model"]

    def note_error(self, data: JSONObject) -> None:
        """Keep the upstream's error message."""
        error = data.get("error")
        words = error.get("message") if isinstance(error, dict) else error or data.get("message")
        self.error = str(words or "The upstream returned an error.")[:500]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of a protocol: ``path`` below ``/v1``, at the gateway and at the provider.

    ``purpose`` is the purpose of its calls in the ledger; "" if they are not entered there. ``remembers``: it serves
    chats, which get memory. ``optional``: it is forwarded, without memory, only to upstreams that list its path.
    ``stored``: it serves what the upstream stores. Its path may contain ids as ``{id}``; the first must be the
    project's own.
    """

    path: str
    purpose: str = ""
    remembers: bool = False
    optional: bool = False
    method: str = "POST"
    stored: bool = False


class Protocol(ABC):
    """One protocol. A method changes only the part of the body that it names."""

    #: The provider that serves it, by its name in ``PROVIDERS``.
    upstream: ClassVar[str]
    endpoints: ClassVar[tuple[Endpoint, ...]]
    reader: ClassVar[type[AnswerReader]]
    #: Whether an answer continues the assistant message that ends a request.
    continues_prefill: ClassVar[bool] = False

    @abstractmethod
    def messages(self, body: JSONObject) -> list[GatewayMessage]:
        """The messages without system prompts, each with its position."""

    @abstractmethod
    def system(self, body: JSONObject) -> str:
        """The client's own system prompt."""

    @abstractmethod
    def with_system(self, body: JSONObject, words: str) -> JSONObject:
        """A body with ``words`` after the client's own system prompt."""

    @abstractmethod
    def with_notes(self, body: JSONObject, position: int, words: str) -> JSONObject:
        """A body with ``words`` appended to the message at ``position``."""

    def answer_format(self, body: JSONObject) -> AnswerFormat:
        """The format of the answer that the body requests."""
        return _answer_format(body)

    def person(self, body: JSONObject) -> str:
        """The person that the body names, or "".

        Ignores values with more than ``MAX_PERSON_CHARACTERS``, and JSON: they identify a program.
        """
        metadata = body.get("metadata")
        values = [body.get("user"), body.get("safety_identifier")]
        values += [metadata.get("user_id")] if isinstance(metadata, dict) else []
        names = (value for value in values if isinstance(value, str) and not value.startswith("{"))
        return next((name for name in names if 0 < len(name) <= MAX_PERSON_CHARACTERS), "")

    def name_of_message(self, body: JSONObject) -> str:
        """The name in the newest message of a person."""
        items = body.get("messages") or body.get("input")
        messages = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        newest = next((item for item in reversed(messages) if item.get("role") == "user"), {})
        return newest["name"] if isinstance(newest.get("name"), str) else ""

    def conversation(self, body: JSONObject) -> str:
        """The conversation's id, if the protocol has one."""
        return ""

    def stores(self, body: JSONObject) -> bool:
        """Whether the upstream stores the answer, so that the client need not send the conversation again."""
        return False

    def continues_stored(self, body: JSONObject) -> bool:
        """Whether the upstream has the earlier messages, and the body only what is new."""
        return False

    def references(self, body: JSONObject) -> dict[str, str]:
        """The ids in the body of what the upstream stores, each with the field that names it."""
        return {}

    @staticmethod
    def problem(status: int, message: str) -> JSONObject:
        """An error of the gateway in the protocol's format."""
        kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(status)
        kind = kind or ("invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def broken(self, message: str) -> bytes:
        """The event that ends a broken stream."""
        return b"data: " + json.dumps(self.problem(502, message)).encode() + b"\n\n"


def append_at(messages: list[Any], position: int, words: str, kind: str = "text") -> list[Any]:
    """A copy of the messages, with ``words`` appended to the content of the one at ``position``."""
    message = messages[position]
    added = {**message, "content": append_text(message.get("content"), words, kind)}
    return [*messages[:position], added, *messages[position + 1 :]]


def named_files(value: Any) -> Iterator[str]:
    """The names of fields, anywhere in a body, that name files or vector stores at the upstream."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in _FILE_FIELDS and isinstance(part, str | list):
                yield name
            elif isinstance(part, dict | list):
                yield from named_files(part)
    elif isinstance(value, list):
        for part in value:
            yield from named_files(part)


def token_count(usage: Any, name: str) -> int | None:
    """The token count of this name in an answer's usage; None if it is missing or no count."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_TOKEN_COUNT else None


_FILE_FIELDS = ("file_id", "file_ids", "vector_store_ids")
#: The protocols' request fields for the format and the maximum length of an answer.
_FORMAT_FIELDS = ("response_format", "text", "output_config", "output_format")
_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def _answer_format(body: JSONObject) -> AnswerFormat:
    tools = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    choice = body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    forces_tool = kind in ("required", "any", "function", "tool", "custom")
    chosen = [tool for tool in tools if forces_tool and (len(tools) == 1 or _name(tool) == _name(choice))]
    limits = [limit for name in _LIMIT_FIELDS if isinstance(limit := body.get(name), int)]
    return AnswerFormat(
        frozenset(_properties([_schema(tool) for tool in chosen] or [_format_schema(body)])),
        len(tools),
        forces_tool,
        any(str(tool.get("type") or "").startswith(("web_search", "file_search", "code_")) for tool in chosen),
        min(limits, default=None),
        bool(body.get("stream")),
    )


def _name(tool: Any) -> str:
    """The name of a tool, or of the one that ``tool_choice`` names."""
    named = tool.get("function") if isinstance(tool, dict) and isinstance(tool.get("function"), dict) else tool
    return str(named.get("name") or "") if isinstance(named, dict) else ""


def _schema(tool: JSONObject) -> Any:
    function = tool.get("function") if isinstance(tool.get("function"), dict) else tool
    return function.get("parameters") or function.get("input_schema") if isinstance(function, dict) else None


def _format_schema(body: JSONObject) -> Any:
    """The schema of a structured answer."""
    for name in _FORMAT_FIELDS:
        value = body.get(name)
        for inner in ("format", "json_schema"):
            value = value.get(inner, value) if isinstance(value, dict) else value
        if isinstance(value, dict) and "schema" in value:
            return value["schema"]
    return None


def _properties(schemas: list[Any]) -> list[str]:
    fields = [schema.get("properties") for schema in schemas if isinstance(schema, dict)]
    return [str(name) for properties in fields if isinstance(properties, dict) for name in properties]
