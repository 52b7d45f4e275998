"""Lines of a file → tenants, projects, chats, outputs. The same file twice changes nothing."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import DatabaseError, DataError, transaction
from django.utils import timezone

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Output
from projects.chat.titles import titled
from projects.models import Conversation, Project, Tenant
from projects.tenancy import audit

from .jsonl import BadLineError, ImportLine, bad_line
from .transcripts import names_of_members, spoken

#: Lines recorded in one transaction, and about how much of them is held in memory.
BATCH, BATCH_CHARACTERS = 1000, 8_000_000

Batch = list[ImportLine | BadLineError]


class Projects:
    """Finds or creates the projects that lines belong to, each once."""

    def __init__(self) -> None:
        self._found: dict[str, Project] = {}

    def at(self, line: ImportLine) -> Project:
        """The project of ``line``."""
        if line.path not in self._found:
            tenant, new = Tenant.objects.get_or_create(slug=line.tenant, defaults={"name": _name(line.tenant)})
            if new:
                audit.log(tenant, "import", audit.Action.CREATE, timezone.now(), slug=tenant.slug)
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
        outputs = services.record_many(project.bank, titled(new), now=now)
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
