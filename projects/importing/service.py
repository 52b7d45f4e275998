"""Import lines as tenants, projects, chats and outputs. Importing a file twice changes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import DatabaseError, DataError, transaction
from django.utils import timezone

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Output
from projects.models import Conversation, Project, Tenant
from projects.tenancy import audit
from projects.web.titles import titled

from .jsonl import BadLineError, ImportLine, bad_line
from .transcripts import member_names, split_speakers

#: Limits of a batch, which is held in memory.
BATCH_LINES, BATCH_CHARACTERS = 1000, 8_000_000

Batch = list[ImportLine | BadLineError]


class ProjectCache:
    """Finds or creates the projects that lines name, and caches them."""

    def __init__(self) -> None:
        self._projects: dict[str, Project] = {}

    def at(self, line: ImportLine) -> Project:
        if line.path not in self._projects:
            tenant, new = Tenant.objects.get_or_create(slug=line.tenant, defaults={"name": _name(line.tenant)})
            if new:
                audit.log(tenant, "import", audit.TenantAction.CREATE, timezone.now(), slug=tenant.slug)
            self._projects[line.path] = Project.objects.at(line.path).first() or Project.objects.open(
                tenant, line.project, _name(line.project)
            )
        return self._projects[line.path]

    def all(self) -> list[Project]:
        return list(self._projects.values())


def _name(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").capitalize()


def batches(lines: Iterable[ImportLine | BadLineError], *, strict: bool = False) -> Iterator[Batch]:
    """Group lines into batches of limited size. With ``strict``, a bad line ends its batch."""
    batch: Batch = []
    remaining = BATCH_CHARACTERS
    for line in lines:
        batch.append(line)
        remaining -= line.characters if isinstance(line, ImportLine) else 0
        if len(batch) == BATCH_LINES or remaining <= 0 or (strict and isinstance(line, BadLineError)):
            yield batch
            batch, remaining = [], BATCH_CHARACTERS
    if batch:
        yield batch


def import_batch(projects: ProjectCache, batch: Batch, *, now: datetime) -> Iterator[bool | BadLineError]:
    """Record a batch; yield for each line whether it was new, or its error. Lines that could not be parsed come last.

    A project's lines are recorded in one transaction. If that fails, they are recorded one by one and lazily: each
    only when the caller asks for its result.
    """
    good = [line for line in batch if isinstance(line, ImportLine)]
    for project, lines in _by_project(projects, good):
        yield from _record_together(project, lines, now)
    yield from (line for line in batch if isinstance(line, BadLineError))


def _record_together(project: Project, lines: Sequence[ImportLine], now: datetime) -> Iterable[bool | BadLineError]:
    try:
        return _record_project_lines(project, lines, now)
    except (InvalidInput, DatabaseError):
        return (_record_alone(project, line, now) for line in lines)


def _record_alone(project: Project, line: ImportLine, now: datetime) -> bool | BadLineError:
    try:
        return _record_project_lines(project, [line], now)[0]
    except InvalidInput as error:
        return bad_line(line.number, error)
    except DataError:  # the error message may quote the chat
        return BadLineError(f"line {line.number}: the database cannot hold it.")
    except DatabaseError as error:  # not caused by this line, whose number shows how far the import got
        raise type(error)(f"at line {line.number}: {error}") from error


def record_lines(projects: ProjectCache, lines: Iterable[ImportLine], *, now: datetime) -> None:
    for project, of_project in _by_project(projects, lines):
        _record_project_lines(project, of_project, now)


def _by_project(projects: ProjectCache, lines: Iterable[ImportLine]) -> list[tuple[Project, list[ImportLine]]]:
    lines_by_path: dict[str, tuple[Project, list[ImportLine]]] = {}
    for line in lines:
        lines_by_path.setdefault(line.path, (projects.at(line), []))[1].append(line)
    return list(lines_by_path.values())


def _record_project_lines(project: Project, lines: Sequence[ImportLine], now: datetime) -> list[bool]:
    """Record lines of one project in one transaction; return for each whether it was new."""
    with transaction.atomic():
        members = member_names(project) if any(line.transcript for line in lines) else frozenset()
        new = [split_speakers(line.output, members) if line.transcript else line.output for line in lines]
        outputs = services.record_many(project.bank, titled(new), now=now)
        assign_owners(project, [output for output in outputs if output])
    return [output is not None for output in outputs]


def assign_owners(project: Project, outputs: Sequence[Output]) -> None:
    """Make the member who started a chat its owner. Existing owners are kept."""
    authors = {output.author for output in outputs}
    members = User.objects.filter(memberships__tenant=project.tenant_id, username__in=authors)
    ids = dict(members.values_list("username", "pk"))
    owners: dict[int, int] = {}
    for output in outputs:
        if output.author in ids:
            owners.setdefault(output.chat_id, ids[output.author])
    rows = [Conversation(chat_id=chat, owner_id=owner) for chat, owner in owners.items()]
    Conversation.objects.bulk_create(rows, ignore_conflicts=True)
