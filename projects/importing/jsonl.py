"""JSON Lines of outputs as a file has them → outputs to record, or what is wrong with a line, by its number."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware

from memorybank.exceptions import InvalidInput
from memorybank.services import NewOutput
from projects.models import SLUG
from projects.web.terminal import is_utf8, printable

#: A line longer than this is refused unread: it cannot hold outputs within their limits.
MAX_LINE = 8_000_000
#: From so many lines on, a file that looks like a transcript is asked about.
HINT_FROM = 10
REQUIRED = ("tenant", "project", "chat", "user", "question", "created_at")
IN_THE_FILE = {"chat_key": "chat", "author": "user", "key": "id"}
KNOWN = {*REQUIRED, "answer", "id", "messages", "status", "title"}


class BadLineError(Exception):
    """A line that cannot be imported; the message names its number and what is wrong."""


def bad_line(number: int, error: ValueError) -> BadLineError:
    """What is wrong with a line, in the words of the file."""
    name, colon, what = str(error).partition(":")
    return BadLineError(printable(f"line {number}: {IN_THE_FILE.get(name, name)}{colon}{what}"))


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line that is well-formed: where its output belongs, and the output."""

    number: int
    tenant: str
    project: str
    output: NewOutput
    characters: int
    transcript: bool = False

    @property
    def path(self) -> str:
        """The project, as ``tenant/project``."""
        return f"{self.tenant}/{self.project}"


@dataclass(slots=True)
class Reader:
    """Parses lines. Stateful only to tell apart equal lines without an id: they get numbered keys.

    ``transcript``: the lines are talk between people, whose names stand before what they say.
    """

    now: datetime
    transcript: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    #: Lines that could be read, and those of them that open with their author's name.
    lines: int = 0
    named: int = 0

    @property
    def hint(self) -> str:
        """What to ask whoever imports talk between people as if a model had answered; "" when nothing suggests it."""
        if self.transcript or self.lines < HINT_FROM or self.named * 2 < self.lines:
            return ""
        return (
            f"{self.named:,} of {self.lines:,} lines open with their author's name. Talk between people? Say "
            "--transcript: else answers count as a model's, and little of them is kept."
        )

    def read(self, lines: Iterable[str]) -> Iterator[ImportLine | BadLineError]:
        """Each non-blank line, or why it cannot be taken."""
        for number, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    yield self._line(number, text)
                except ValueError as error:
                    yield bad_line(number, error)

    def _line(self, number: int, text: str) -> ImportLine:
        row = _row(text)
        for name in ("tenant", "project"):
            _require_slug(name, row[name])
        output = NewOutput(
            chat_key=row["chat"],
            author=row["user"],
            question=row["question"],
            answer=row.get("answer", ""),
            messages=row.get("messages", []),
            status=row.get("status", "ok"),
            title=row.get("title", ""),
            created_at=_time(row["created_at"]),
            key=self._key(row),
        )
        output.require_valid(self.now)
        self.lines += 1
        self.named += output.question.startswith(f"{output.author}:")
        return ImportLine(number, row["tenant"], row["project"], output, len(text), self.transcript)

    def _key(self, row: dict[str, Any]) -> str:
        """The given id, or one made of what the line says and how often it was said before."""
        given = row.get("id")
        if given not in (None, ""):
            if isinstance(given, bool) or not isinstance(given, str | int):
                raise InvalidInput("id: must be text or a whole number.")
            return str(given)
        said = [row[name] for name in REQUIRED] + [row.get("answer", "")]
        if not all(isinstance(each, str) for each in said):
            return ""  # the line is refused for it, by name
        digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]
        self.seen[digest] += 1
        return f"{digest}:{self.seen[digest]}"


def _row(text: str) -> dict[str, Any]:
    if len(text) > MAX_LINE:
        raise InvalidInput(f"{len(text):,} characters, at most {MAX_LINE:,} are allowed.")
    if not is_utf8(text):
        raise InvalidInput("not valid UTF-8.")
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a plain ValueError
        where = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidInput(f"not valid JSON{where}.") from error
    if not isinstance(row, dict):
        raise InvalidInput("not a JSON object.")
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise InvalidInput(f"{missing[0]}: is missing.")
    unknown = sorted(set(row) - KNOWN)
    if unknown:
        raise InvalidInput(f"{unknown[0][:40]}: no such field.")
    return row


def _require_slug(name: str, value: Any) -> None:
    try:
        SLUG(value if isinstance(value, str) else "")
    except ValidationError as error:
        raise InvalidInput(f"{name}: “{str(value)[:40]}” is not a slug. {SLUG.message}") from error


def _time(value: Any) -> datetime:
    try:
        parsed = parse_datetime(value)
    except (TypeError, ValueError):
        parsed = None
    if parsed is None:
        raise InvalidInput(f"created_at: “{str(value)[:40]}” is not an ISO 8601 time like 2026-05-08T13:56:00Z.")
    # PostgreSQL refuses offsets such as +23:59. The ends of the calendar, which have no UTC, are refused for that.
    return parsed.astimezone(UTC) if is_aware(parsed) and 1 < parsed.year < 9999 else parsed
