"""What the gateway needs to know of a protocol. Pure: JSON in, JSON out."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from projects.gateway.messages import Said

Body = dict[str, Any]


class Unacceptable(Exception):
    """A request that the gateway cannot carry out faithfully; the message names the field."""


@dataclass(slots=True)
class Answer:
    """What an upstream answered, read while it passes. Tokens are None where it does not say."""

    said: list[Said] = field(default_factory=list)
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""

    @property
    def text(self) -> str:
        """Its words."""
        return "\n\n".join(each.text for each in self.said if each.text)

    @property
    def unfinished(self) -> bool:
        """Whether the turn goes on, with the tools that are asked for."""
        return any(each.calls for each in self.said)


class Reader(ABC):
    """Reads one answer: event by event, or whole."""

    def __init__(self) -> None:
        self.model, self.error = "", ""
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether nothing is missing, even if the stream just ends."""
        return self.done

    @abstractmethod
    def event(self, data: Body) -> None:
        """One event of a stream. ``done`` when it was the last."""

    @abstractmethod
    def whole(self, data: Body) -> None:
        """An answer that is no stream."""

    @abstractmethod
    def said(self) -> list[Said]:
        """What has been said so far, as the client will send it again."""

    def answer(self) -> Answer:
        """What has been read."""
        return Answer(self.said(), self.model, self.prompt_tokens, self.completion_tokens, self.error)

    def note_model(self, data: Body) -> None:
        """Whichever model says that it answers."""
        if isinstance(data.get("model"), str):
            self.model = data["model"]

    def note_error(self, data: Body) -> None:
        """What went wrong, in the upstream's words."""
        error = data.get("error")
        words = error.get("message") if isinstance(error, dict) else error or data.get("message")
        self.error = str(words or "The upstream reports an error.")[:500]


class Protocol(ABC):
    """One protocol. Nothing of a body is changed but what is said to be."""

    #: Which kind of upstream speaks it.
    upstream: ClassVar[str]
    reader: ClassVar[type[Reader]]

    @abstractmethod
    def said(self, body: Body) -> list[Said]:
        """The messages, without the system's; each with its place."""

    @abstractmethod
    def system(self, body: Body) -> str:
        """The client's own system prompt."""

    @abstractmethod
    def with_system(self, body: Body, words: str) -> Body:
        """A body with ``words`` after the client's own system prompt."""

    @abstractmethod
    def with_notes(self, body: Body, at: int, words: str) -> Body:
        """A body with ``words`` beside the message at ``at``."""

    def check(self, body: Body) -> None:
        """Raise :class:`Unacceptable` at what cannot be carried out."""
        return

    def person(self, body: Body) -> str:
        """Who says it, as far as the client tells; "" if it does not."""
        return str(body.get("user") or "")

    def conversation(self, body: Body) -> str:
        """An id that the protocol itself has for the conversation."""
        return ""

    @staticmethod
    def problem(status: int, message: str) -> Body:
        """An error of ours in the protocol's shape."""
        kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(status)
        kind = kind or ("invalid_request_error" if status < 500 else "server_error")
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def broken(self, message: str) -> bytes:
        """The event that ends a stream which broke."""
        return b"data: " + json.dumps(self.problem(502, message)).encode() + b"\n\n"


def replaced(values: list[Any], at: int, value: Any) -> list[Any]:
    """A list with another value at a place; the one given stays as it is."""
    return [*values[:at], value, *values[at + 1 :]]


def number(value: Any) -> int | None:
    """A count of tokens, if it is one."""
    return value if isinstance(value, int) and value >= 0 else None
