"""Imports from the import page: read and count an export, then let a worker import its conversations."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import IO, Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memorybank import services
from memorybank.exceptions import InvalidInput
from projects.models import ImportRun, Project, WaitingConversation
from projects.models.import_run import RUN_CLAIMED_FOR
from projects.tenancy import audit

from .conversations import Audience, ImportCounts, ImportTarget, record_conversation
from .estimate import MAX_ERRORS_SHOWN, Estimate
from .exports import BadConversation, ExportedConversation, from_json, read_export

IMPORT_TASK = "projects.importing.tasks.import_waiting"
#: Conversations that are stored with one query.
CONVERSATIONS_PER_QUERY = 100
#: The page supports exports of at most this many people, because it shows a field for each.
MAX_PEOPLE_IN_FORM = 50


def read(project: Project, file: IO[bytes], name: str, *, format: str = "", actor: str, now: datetime) -> ImportRun:
    """Read an export and store its conversations until the import is started, so that the file is not needed again.

    Raises :class:`InvalidInput` if the file is not a known export, or has more than ``MAX_PEOPLE_IN_FORM`` people.
    """
    format, conversations = read_export(file, name, format)
    run = ImportRun.objects.create(project=project, format=format, file=name[:200], created_by=actor, created_at=now)
    try:
        estimate = _store(run, conversations, ImportTarget(project, format, Audience.PRIVATE, {"": actor}))
        if len(estimate.people) > MAX_PEOPLE_IN_FORM:
            raise InvalidInput(
                f"{name}: has {len(estimate.people):,} people, at most {MAX_PEOPLE_IN_FORM} are allowed here; "
                "import it with: "
                f"python manage.py import_chats FILE --from {format} --project {project.path} --user ID=NAME"
            )
    except InvalidInput:
        run.delete()
        raise
    run.report = {**estimate.as_dict(), "chats_of": dict(estimate.people)}
    run.bad, run.reasons, run.total = estimate.bad, estimate.reasons, run.conversations.count()
    run.save()
    return run


def _store(
    run: ImportRun, conversations: Iterable[ExportedConversation | BadConversation], target: ImportTarget
) -> Estimate:
    estimate, batch = Estimate(), []
    for conversation in conversations:
        if isinstance(conversation, BadConversation):
            estimate.add(conversation)
            continue
        estimate.add(conversation, target.known(conversation))
        if conversation.turns:
            batch.append(WaitingConversation(run=run, content=conversation.as_json()))
        if len(batch) == CONVERSATIONS_PER_QUERY:
            WaitingConversation.objects.bulk_create(batch)
            batch = []
    WaitingConversation.objects.bulk_create(batch)
    return estimate


def start(run: ImportRun, authors: Mapping[str, str], audience: Audience, *, actor: str, now: datetime) -> None:
    """Let a worker import the run. Raises :class:`InvalidInput` if an author is not a project member."""
    _target(run, authors, audience).readers()
    with transaction.atomic():
        changes = {"authors": dict(authors), "audience": audience.value, "started_at": now}
        if not ImportRun.objects.filter(pk=run.pk, started_at=None).update(**changes):
            return  # another request has started it
        detail = {"project": run.project.slug, "format": run.format, "chats": run.total, "audience": audience.value}
        people = sorted(set(filter(None, authors.values())))
        audit.log(run.project.tenant, actor, audit.TenantAction.IMPORT, now, **detail, people=people)
    services.send_task(IMPORT_TASK)


def work(*, seconds: float = float("inf"), clock: Callable[[], datetime] = timezone.now) -> bool:
    """Import started runs for at most ``seconds``, and delete expired dry runs; return whether work is left."""
    ImportRun.objects.forgotten(clock()).delete()
    until = time.monotonic() + seconds
    for pk in list(ImportRun.objects.due(clock()).order_by("started_at").values_list("pk", flat=True)):
        if ImportRun.objects.claim(pk, clock()):
            with services.banks_entered(_bank_of(pk)):
                _import(pk, until, clock)
    return ImportRun.objects.due(clock()).exists()


def _import(pk: int, until: float, clock: Callable[[], datetime]) -> None:
    run = ImportRun.objects.select_related("project__bank", "project__tenant").get(pk=pk)
    target = _target(run, run.authors, Audience(run.audience))
    try:
        readers = target.readers()
    except InvalidInput as error:  # an author has left the project since the start
        _finish(run, clock(), bad=1, reasons=[str(error), *run.reasons][:MAX_ERRORS_SHOWN])
        return
    while time.monotonic() < until:
        waiting = run.conversations.filter(chat_key="").order_by("pk").first()
        if waiting is None:
            _finish(run, clock())
            return
        conversation = from_json(waiting.content or {})
        with transaction.atomic():
            recorded = record_conversation(target, readers, conversation, now=clock())
            _note(run, waiting, target.chat_key(conversation), recorded, clock())
    ImportRun.objects.filter(pk=pk).update(claimed_until=None)


def _note(run: ImportRun, waiting: WaitingConversation, key: str, recorded: ImportCounts, now: datetime) -> None:
    """Record a conversation's result in its run, and delete its content, which is no longer needed.

    The report counts chats: new ones, those that were there already, perhaps with fewer turns, and refused ones.
    """
    turns = sum(1 for _ in from_json(waiting.content or {}).in_order())
    outcome = "known" if recorded.known else "new" if recorded.new else "refused"
    chats, refused = run.report.get("imported_chats", {}), run.report.get("refused_turns", 0)
    run.report["imported_chats"] = {**chats, outcome: chats.get(outcome, 0) + 1}
    run.report["refused_turns"] = refused + turns - recorded.new - recorded.known
    WaitingConversation.objects.filter(pk=waiting.pk).update(content=None, chat_key=key)
    reasons = [*run.reasons, *map(str, recorded.bad)][:MAX_ERRORS_SHOWN]
    ImportRun.objects.filter(pk=run.pk).update(
        done=F("done") + 1,
        recorded=F("recorded") + recorded.new,
        known=F("known") + recorded.known,
        bad=F("bad") + len(recorded.bad),
        reasons=reasons,
        report=run.report,
        claimed_until=now + RUN_CLAIMED_FOR,
    )
    run.reasons = reasons


def _finish(run: ImportRun, now: datetime, *, bad: int = 0, **changes: Any) -> None:
    run.conversations.filter(chat_key="").delete()
    ImportRun.objects.filter(pk=run.pk).update(finished_at=now, claimed_until=None, bad=F("bad") + bad, **changes)


def _target(run: ImportRun, authors: Mapping[str, str], audience: Audience) -> ImportTarget:
    nobody = dict.fromkeys(run.report["chats_of"], "")  # who has no author is left out, and takes no default
    return ImportTarget(run.project, run.format, audience, {**nobody, **authors})


def _bank_of(run: int) -> int:
    return ImportRun.objects.values_list("project__bank", flat=True).get(pk=run)
