"""JSON Lines of outputs → tenants, projects, chats, outputs. The same file twice changes nothing."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.dateparse import parse_datetime

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import NewOutput

from .models import SLUG, Conversation, Project, Tenant

#: A line longer than this is refused unread: it cannot hold outputs within their limits.
MAX_LINE = 8_000_000
REQUIRED = ("tenant", "project", "chat", "user", "question", "created_at")
IN_THE_FILE = {"chat_key": "chat", "author": "user", "key": "id"}
KNOWN = {*REQUIRED, "answer", "id", "messages", "status", "title"}


class BadLineError(Exception):
    """A line that cannot be imported; the message names its number and what is wrong."""


def bad_line(number: int, error: ValueError) -> BadLineError:
    """What is wrong with a line, in the words of the file."""
    name, colon, what = str(error).partition(":")
    return BadLineError(f"line {number}: {IN_THE_FILE.get(name, name)}{colon}{what}")


@dataclass(frozen=True, slots=True)
class ImportLine:
    """A line that is well-formed: where its output belongs, and the output."""

    number: int
    tenant: str
    project: str
    output: NewOutput

    @property
    def path(self) -> str:
        """The project, as ``tenant/project``."""
        return f"{self.tenant}/{self.project}"


@dataclass(slots=True)
class Reader:
    """Parses lines. Stateful only to tell apart equal lines without an id: they get numbered keys."""

    now: datetime
    seen: Counter[str] = field(default_factory=Counter)

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
        return ImportLine(number, row["tenant"], row["project"], output)

    def _key(self, row: dict[str, Any]) -> str:
        """The given id, or one made of what the line says and how often it was said before."""
        if row.get("id") not in (None, ""):
            return str(row["id"])
        said = [row[name] for name in REQUIRED] + [row.get("answer", "")]
        digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]
        self.seen[digest] += 1
        return f"{digest}:{self.seen[digest]}"


def _row(text: str) -> dict[str, Any]:
    if len(text) > MAX_LINE:
        raise InvalidInput(f"{len(text):,} characters, at most {MAX_LINE:,} are allowed.")
    if not _is_utf8(text):
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
        raise InvalidInput(f"{unknown[0]}: no such field.")
    return row


def _is_utf8(text: str) -> bool:
    """Whether the file's bytes were; those that were not came in as lone surrogates, which JSON would escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
    return parsed


class Projects:
    """Finds or creates the projects that lines belong to, each once."""

    def __init__(self) -> None:
        self._found: dict[str, Project] = {}
        self._members: dict[tuple[int, str], User | None] = {}

    def at(self, line: ImportLine) -> Project:
        """The project of ``line``."""
        if line.path not in self._found:
            tenant, _ = Tenant.objects.get_or_create(slug=line.tenant, defaults={"name": _name(line.tenant)})
            self._found[line.path] = Project.objects.at(line.path).first() or Project.objects.open(
                tenant, line.project, _name(line.project)
            )
        return self._found[line.path]

    def member(self, project: Project, author: str) -> User | None:
        """The member of the project's tenant whose user name is ``author``, if there is one."""
        place = (project.tenant_id, author)
        if place not in self._members:
            members = User.objects.filter(memberships__tenant=project.tenant_id, username=author)
            self._members[place] = members.first()
        return self._members[place]

    def all(self) -> list[Project]:
        """Every project met so far."""
        return list(self._found.values())


def _name(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").capitalize()


def record(projects: Projects, line: ImportLine, *, now: datetime) -> bool:
    """Record one line's output; whether it was new. A chat belongs to the member who began it, if she is one."""
    project = projects.at(line)
    output, is_new = services.record_once(project.bank, line.output, now=now)
    owner = projects.member(project, line.output.author) if is_new else None
    if owner:
        Conversation.objects.get_or_create(chat=output.chat, defaults={"owner": owner})
    return is_new
