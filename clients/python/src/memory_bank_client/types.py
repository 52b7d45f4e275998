"""The fields of requests and answers. Fields of a newer server that are not named here are ignored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, TypedDict

#: Labels of your own: a text, a number, a boolean or None under a short name.
Metadata = Mapping[str, str | int | float | bool | None]

Filter = TypedDict(
    "Filter",
    {"author": str, "chat": str, "from": str, "to": str, "metadata": Metadata, "kinds": Sequence[str]},
    total=False,
)


class _Answer:
    """Made from a JSON object."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        names = {item.name for item in fields(cls)}  # type: ignore[arg-type]  # every subclass is a dataclass
        return cls(**{name: value for name, value in data.items() if name in names})


@dataclass(frozen=True, slots=True)
class Output:
    """A turn to record: a question and its answer."""

    chat: str
    author: str
    question: str
    answer: str = ""
    id: str = ""
    title: str = ""
    status: str = "ok"
    messages: Sequence[Any] = ()
    metadata: Metadata = field(default_factory=dict)
    created_at: datetime | None = None

    def body(self) -> dict[str, Any]:
        """As it is sent. A time needs a zone."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        at = values.pop("created_at")
        values |= {"messages": list(self.messages), "metadata": dict(self.metadata)}
        return values | ({"created_at": at.isoformat()} if at else {})


@dataclass(frozen=True, slots=True)
class Recorded(_Answer):
    """The result for one turn. ``id`` is None if it was known already, or has been erased."""

    id: str | None
    recorded: bool


@dataclass(frozen=True, slots=True)
class Text(_Answer):
    """A text for a prompt; empty if there is nothing to say."""

    text: str
    tokens: int
    lines: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Memory:
    """The block for the system prompt, and the notes for the newest message only."""

    block: Text
    recalled: Text
    version: int

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        return cls(Text.of(data["block"]), Text.of(data["recalled"]), data["version"])


@dataclass(frozen=True, slots=True)
class Hit(_Answer):
    """A turn ("output") or a fact that answers a question."""

    kind: str
    id: str
    chat: str
    text: str
    speaker: str
    reported: bool
    score: float
    created_at: str
    citations: list[str]


@dataclass(frozen=True, slots=True)
class Fact(_Answer):
    """A line of memory with the turns that it cites."""

    id: str
    kind: str
    text: str
    speaker: str
    reported: bool
    said_on: str
    pinned: bool
    hidden: bool
    held_back: str
    citations: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Receipt(_Answer):
    """How much was erased, never what. ``id`` is None for a dry run."""

    id: str | None
    kind: str
    asked_by: str
    at: str
    dry_run: bool
    counts: dict[str, int]
