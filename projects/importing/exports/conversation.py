"""The classes that all export readers yield, and helpers to read fields of an export."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive

#: Timestamps above this are milliseconds: as seconds, they would be after the year 5000.
MAX_SECONDS = 100_000_000_000


class LeftOut(StrEnum):
    """Parts of a conversation that a reader skips and counts."""

    UNANSWERED = "questions without an answer"
    UNASKED = "answers without a question"
    NESTED = "versions inside of versions"
    FILES = "files and pictures"
    FAILED = "failed answers"


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """A question with its answer. ``key`` is the export's own id, so that a second import does not record it again."""

    key: str
    question: str
    answer: str
    created_at: datetime
    model: str = ""


@dataclass(frozen=True, slots=True)
class ExportedConversation:
    """A conversation with the turns that the product shows, oldest first.

    ``person`` is the export's name for the conversation's author; "" in the export of a single account. ``versions``
    maps an index in ``turns`` to the other versions of that turn, each a list of the version and the turns after it.
    """

    key: str
    title: str
    turns: Sequence[ExportedTurn]
    person: str = ""
    versions: Mapping[int, Sequence[Sequence[ExportedTurn]]] = field(default_factory=dict)
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)

    def in_order(self) -> Iterator[ExportedTurn]:
        """All turns in the order in which they are recorded: other versions of a turn come before it."""
        for place, turn in enumerate(self.turns):
            for version in self.versions.get(place, ()):
                yield from version
            yield turn

    def replaced(self) -> dict[str, list[str]]:
        """Map the key of a turn to the keys of the version before it and of the turns that followed that version."""
        links: dict[str, list[str]] = {}
        for place, versions in self.versions.items():
            newer = self.turns[place].key
            for version in reversed(versions):
                links[newer] = [turn.key for turn in version]
                newer = version[0].key
        return links

    def as_json(self) -> dict[str, Any]:
        """The conversation as JSON for :func:`from_json`, without ``left_out``."""
        versions = [[place, [_as_json(one) for one in several]] for place, several in self.versions.items()]
        return {
            "key": self.key,
            "title": self.title,
            "person": self.person,
            "turns": _as_json(self.turns),
            "versions": versions,
        }


def from_json(content: Mapping[str, Any]) -> ExportedConversation:
    """The conversation that :meth:`ExportedConversation.as_json` stored; ``left_out`` is empty."""
    versions = {place: [list(map(_turn, one)) for one in several] for place, several in content["versions"]}
    turns = list(map(_turn, content["turns"]))
    return ExportedConversation(content["key"], content["title"], turns, content["person"], versions)


def _as_json(turns: Sequence[ExportedTurn]) -> list[dict[str, Any]]:
    return [{**asdict(turn), "created_at": turn.created_at.isoformat()} for turn in turns]


def _turn(content: Mapping[str, Any]) -> ExportedTurn:
    return ExportedTurn(**{**content, "created_at": datetime.fromisoformat(content["created_at"])})


class BadFieldError(ValueError):
    """A field of a conversation that cannot be read; the message begins with the field's name."""


@dataclass(frozen=True, slots=True)
class BadConversation:
    """A conversation that cannot be read: its place in the file, and the reason without quotes of its messages.

    ``is_end``: nothing after it was read.
    """

    place: str
    why: str
    is_end: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


#: A place in the file for error messages, and the JSON value at that place.
Item = tuple[str, Any]
Read = Iterator[ExportedConversation | BadConversation]


def read_each(items: Iterable[Item], read: Callable[[Mapping[str, Any]], ExportedConversation]) -> Read:
    """Read each item as one conversation."""
    for place, item in items:
        try:
            yield read(require(item, Mapping, "conversation", "object"))
        except BadFieldError as error:
            yield BadConversation(place, str(error))


def rows(items: Iterable[Item], lists: Sequence[str], noun: str) -> Iterator[Item]:
    """Yield each row of the items: an item is either a row, or an object with a list of rows in one of ``lists``.

    A list that is none is yielded as one row that is ``None``.
    """
    for place, item in items:
        name = next((name for name in lists if isinstance(item, Mapping) and name in item), "")
        if not name:
            yield place, item
            continue
        content = item[name] if isinstance(item[name], list) else [None]
        for number, row in enumerate(content, start=1):
            yield f"{place}, {noun} {number}", row


def require(value: Any, kind: Any, name: str, what: str) -> Any:
    """``value`` if it is an instance of ``kind``; otherwise raise :class:`BadFieldError`."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BadFieldError(
            f"{name}: must be {'an' if what[0] in 'aeiou' else 'a'} {what}, not {type(value).__name__}."
        )
    return value


def mapping(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in a required field."""
    return _required(item, name, Mapping, "object")  # type: ignore[no-any-return]


def sequence(item: Mapping[str, Any], name: str) -> list[Any]:
    """The list in a required field."""
    return _required(item, name, list, "list")  # type: ignore[no-any-return]


def identifier(item: Mapping[str, Any], *names: str) -> str:
    """The id in the first of these fields that has one."""
    for name in names:
        if (value := item.get(name)) not in (None, ""):
            return str(require(value, str | int, name, "text or number"))
    raise BadFieldError(f"{names[0]}: is missing.")


def text(item: Mapping[str, Any], name: str) -> str:
    """The text in a field; "" if the field is missing or null."""
    value = item.get(name)
    return "" if value is None else str(require(value, str, name, "text"))


def moment(value: Any, name: str, otherwise: datetime | None = None) -> datetime:
    """Parse a time: seconds or milliseconds since 1970, or ISO 8601, which is UTC if it has no zone."""
    if value in (None, "") and otherwise:
        return otherwise
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > MAX_SECONDS else value, UTC)
        parsed = parse_datetime(value)
    except (TypeError, ValueError, OverflowError, OSError):
        parsed = None
    if parsed is None or not 1 < parsed.year < 9999:
        raise BadFieldError(f"{name}: “{str(value)[:40]}” is not a time." if value else f"{name}: is missing.")
    return parsed.replace(tzinfo=UTC) if is_naive(parsed) else parsed.astimezone(UTC)


def _required(item: Mapping[str, Any], name: str, kind: Any, what: str) -> Any:
    if item.get(name) is None:
        raise BadFieldError(f"{name}: is missing.")
    return require(item[name], kind, name, what)
