"""Parse JSON Lines into outputs to record, or into errors with line numbers."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive

from memorybank.exceptions import InvalidInput
from memorybank.services import NewOutput
from projects.models import SLUG

from .printable import is_utf8, printable

#: A longer line is rejected without parsing: no valid output is that long.
MAX_LINE_CHARACTERS = 8_000_000
#: A file needs this many lines before it can get the hint that it looks like a transcript.
MIN_LINES_FOR_HINT = 10
REQUIRED_FIELDS = ("tenant", "project", "chat", "user", "question", "created_at")
FILE_FIELD_NAMES = {"chat_key": "chat", "author": "user", "key": "id"}
KNOWN_FIELDS = {*REQUIRED_FIELDS, "answer", "id", "messages", "status", "title"}


class BadLineError(Exception):
    """A line that cannot be imported; the message contains the line number and the error."""


def bad_line(number: int, error: ValueError) -> BadLineError:
    """A line's error, with the field names that the file uses instead of the model's."""
    name, colon, what = str(error).partition(":")
    return BadLineError(printable(f"line {number}: {FILE_FIELD_NAMES.get(name, name)}{colon}{what}"))


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A valid line: an output with the slugs of its tenant and project."""

    number: int
    tenant: str
    project: str
    output: NewOutput
    characters: int
    transcript: bool = False

    @property
    def path(self) -> str:
        return f"{self.tenant}/{self.project}"


@dataclass(slots=True)
class LineReader:
    """Parses lines. Its state numbers equal lines without an id, and counts lines for :attr:`hint`.

    ``transcript``: the lines are conversations between people, each text preceded by its speaker's name.
    """

    now: datetime
    transcript: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    #: Number of valid lines, and how many of them begin with their author's name.
    lines: int = 0
    named: int = 0

    @property
    def hint(self) -> str:
        """A hint that the file may be a transcript of people; "" if nothing suggests it."""
        if self.transcript or self.lines < MIN_LINES_FOR_HINT or self.named * 2 < self.lines:
            return ""
        return (
            f"{self.named:,} of {self.lines:,} lines begin with their author's name. For conversations between people, "
            "use --transcript: otherwise answers count as a model's, and little of them is kept."
        )

    def read(self, lines: Iterable[str]) -> Iterator[ImportLine | BadLineError]:
        """Yield each non-blank line, or its error."""
        for number, text in enumerate(lines, start=1):
            if text.strip():
                try:
                    yield self._line(number, text)
                except ValueError as error:
                    yield bad_line(number, error)

    def _line(self, number: int, text: str) -> ImportLine:
        row = parse_line(text)
        output = NewOutput(
            chat_key=row["chat"],
            author=row["user"],
            question=row["question"],
            answer=row.get("answer", ""),
            messages=row.get("messages", []),
            status=row.get("status", "ok"),
            title=row.get("title", ""),
            created_at=line_time(row["created_at"]),
            key=line_key(row, self.seen),
        )
        output.require_valid(self.now)
        self.lines += 1
        self.named += output.question.startswith(f"{output.author}:")
        return ImportLine(number, row["tenant"], row["project"], output, len(text), self.transcript)


def line_key(row: Mapping[str, Any], seen: Counter[str]) -> str:
    """The line's id, or one made from its content and the count of equal lines in ``seen``, which it updates."""
    line_id = row.get("id")
    if line_id not in (None, ""):
        if isinstance(line_id, bool) or not isinstance(line_id, str | int):
            raise InvalidInput("id: must be text or a whole number.")
        return str(line_id)
    values = [row[name] for name in REQUIRED_FIELDS] + [row.get("answer", "")]
    if not all(isinstance(value, str) for value in values):
        return ""  # the line is refused later, with the field's name
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def parse_line(text: str) -> dict[str, Any]:
    """The object in a line with the required fields; raises :class:`InvalidInput` for any other line."""
    if len(text) > MAX_LINE_CHARACTERS:
        raise InvalidInput(f"{len(text):,} characters, at most {MAX_LINE_CHARACTERS:,} are allowed.")
    if not is_utf8(text):
        raise InvalidInput("not valid UTF-8.")
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits raises a plain ValueError
        raise InvalidInput(f"not valid JSON{_column(error, text)}.") from error
    if not isinstance(row, dict):
        raise InvalidInput("not a JSON object.")
    require_fields(row)
    return row


def _column(error: ValueError | RecursionError, text: str) -> str:
    """Where a line is wrong, at most at its end: what it lacks there is missed only after the line break."""
    if not isinstance(error, json.JSONDecodeError):
        return ""
    return f" at column {min(error.pos, len(text.rstrip())) + 1}"


def require_fields(row: Mapping[str, Any]) -> None:
    """Raise :class:`InvalidInput` for a field that is missing, not known, or a project's name that is no slug."""
    missing = [name for name in REQUIRED_FIELDS if name not in row]
    if missing:
        raise InvalidInput(f"{missing[0]}: is missing.")
    unknown = sorted(set(row) - KNOWN_FIELDS)
    if unknown:
        raise InvalidInput(f"{unknown[0][:40]}: unknown field.")
    for name in ("tenant", "project"):
        _require_slug(name, row[name])


def _require_slug(name: str, value: Any) -> None:
    try:
        SLUG(value if isinstance(value, str) else "")
    except ValidationError as error:
        raise InvalidInput(f"{name}: “{str(value)[:40]}” is not a slug. {SLUG.message}") from error


def line_time(value: Any) -> datetime:
    """Parse an ISO 8601 time with a zone, or raise :class:`InvalidInput`."""
    try:
        parsed = parse_datetime(value)
    except (TypeError, ValueError):
        parsed = None
    if parsed is None:
        raise InvalidInput(f"created_at: “{str(value)[:40]}” is not an ISO 8601 time like 2026-05-08T13:56:00Z.")
    if is_naive(parsed):
        raise InvalidInput("created_at: has no time zone; write it like 2026-05-08T13:56:00Z.")
    # PostgreSQL refuses offsets such as +23:59. Years 1 and 9999 may have no UTC time and are refused later.
    return parsed.astimezone(UTC) if 1 < parsed.year < 9999 else parsed
