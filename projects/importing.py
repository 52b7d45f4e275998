"""JSON Lines of outputs → tenants, projects, chats, outputs. The same file twice changes nothing."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, DataError, transaction
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Output
from memorybank.services import NewOutput

from .models import SLUG, Conversation, Project, Tenant
from .printing import is_utf8, printable
from .transcripts import names_of_members, spoken

#: A line longer than this is refused unread: it cannot hold outputs within their limits.
#: From so many lines on, a file that looks like a transcript is asked about.
HINT_FROM = 10
MAX_LINE = 8_000_000
#: Lines recorded in one transaction, and about how much of them is held in memory.
BATCH, BATCH_CHARACTERS = 1000, 8_000_000
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


Batch = list[ImportLine | BadLineError]


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


class Projects:
    """Finds or creates the projects that lines belong to, each once."""

    def __init__(self) -> None:
        self._found: dict[str, Project] = {}

    def at(self, line: ImportLine) -> Project:
        """The project of ``line``."""
        if line.path not in self._found:
            tenant, _ = Tenant.objects.get_or_create(slug=line.tenant, defaults={"name": _name(line.tenant)})
            self._found[line.path] = Project.objects.at(line.path).first() or Project.objects.open(
                tenant, line.project, _name(line.project)
            )
        return self._found[line.path]

    def all(self) -> list[Project]:
        """Every project met so far."""
        return list(self._found.values())


def _name(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").capitalize()


def batches(lines: Iterable[ImportLine | BadLineError], *, strict: bool = False) -> Iterator[Batch]:
    """The lines in runs that are worth a transaction and fit into memory. ``strict``: a bad line ends its run."""
    batch: Batch = []
    room = BATCH_CHARACTERS
    for line in lines:
        batch.append(line)
        room -= line.characters if isinstance(line, ImportLine) else 0
        if len(batch) == BATCH or room <= 0 or (strict and isinstance(line, BadLineError)):
            yield batch
            batch, room = [], BATCH_CHARACTERS
    if batch:
        yield batch


def take(projects: Projects, batch: Batch, *, now: datetime) -> Iterator[bool | BadLineError]:
    """Record a batch: for each line whether it was new, or why it cannot be taken. Those bad as read come last.

    A project whose lines fail together is recorded line by line, each when the one before it has been looked at.
    """
    good = [line for line in batch if isinstance(line, ImportLine)]
    for project, lines in _by_project(projects, good):
        yield from _together(project, lines, now)
    yield from (line for line in batch if isinstance(line, BadLineError))


def _together(project: Project, lines: Sequence[ImportLine], now: datetime) -> Iterable[bool | BadLineError]:
    try:
        return _record(project, lines, now)
    except (InvalidInput, DatabaseError):
        return (_alone(project, line, now) for line in lines)


def _alone(project: Project, line: ImportLine, now: datetime) -> bool | BadLineError:
    try:
        return _record(project, [line], now)[0]
    except InvalidInput as error:
        return bad_line(line.number, error)
    except DataError:  # its words may be what was said
        return BadLineError(f"line {line.number}: the database cannot hold it.")
    except DatabaseError as error:  # not this line's fault; but it says how far the import came
        raise type(error)(f"at line {line.number}: {error}") from error


def record(projects: Projects, lines: Iterable[ImportLine], *, now: datetime) -> None:
    """Record lines, each project's in one transaction."""
    for project, of_project in _by_project(projects, lines):
        _record(project, of_project, now)


def _by_project(projects: Projects, lines: Iterable[ImportLine]) -> list[tuple[Project, list[ImportLine]]]:
    found: dict[str, tuple[Project, list[ImportLine]]] = {}
    for line in lines:
        found.setdefault(line.path, (projects.at(line), []))[1].append(line)
    return list(found.values())


def _record(project: Project, lines: Sequence[ImportLine], now: datetime) -> list[bool]:
    """Record lines of one project in one transaction; which were new."""
    with transaction.atomic():
        members = names_of_members(project) if any(line.transcript for line in lines) else frozenset()
        new = [spoken(line.output, members) if line.transcript else line.output for line in lines]
        outputs = services.record_many(project.bank, new, now=now)
        _own(project, [output for output in outputs if output])
    return [output is not None for output in outputs]


def _own(project: Project, outputs: Sequence[Output]) -> None:
    """A chat belongs to the member who began it, if she is one; who has it keeps it."""
    authors = {output.author for output in outputs}
    members = User.objects.filter(memberships__tenant=project.tenant_id, username__in=authors)
    ids = dict(members.values_list("username", "pk"))
    owners: dict[int, int] = {}
    for output in outputs:
        if output.author in ids:
            owners.setdefault(output.chat_id, ids[output.author])
    rows = [Conversation(chat_id=chat, owner_id=owner) for chat, owner in owners.items()]
    Conversation.objects.bulk_create(rows, ignore_conflicts=True)
