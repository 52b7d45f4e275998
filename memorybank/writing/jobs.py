"""Jobs: work that a person requests now. It is marked as due, so the ordinary workers do it and report progress.

Nothing here does the work, so a worker that dies takes no job with it: the next sweep finds what is marked.
"""

from collections.abc import Collection
from datetime import datetime
from math import ceil

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from memorybank import conf
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.exceptions import InvalidInput
from memorybank.model_calls import budget_cap
from memorybank.models import Bank, Chat, Event, Job
from memorybank.models.operations import JobQuerySet

Kind = Job.Kind


@at_present
def request_job(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime = PRESENT
) -> Job:
    """Make the workers do something at once, for all ``chats`` (ids) or these; the job reports the progress.

    An open job of the same kind takes the new work as well. Raises :class:`InvalidInput` if it cannot be done.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        _require_possible(row, kind, now)
        open_job = row.jobs.open().filter(kind=kind).first()
        job = open_job or Job(bank=row, kind=kind, asked_by=actor[:200], asked_at=now)
        _mark_due(job, chats)
        job.total = max(job.total, _remaining(job))
        job.save(update_fields=["total"] if open_job else None)  # a worker may be updating its progress
        # A new version makes the workers render the block again as well.
        new_version = {"version": F("version") + 1} if kind == Kind.REBUILD else {}
        Bank.objects.filter(pk=row.pk).update(compress_at=now, settled_at=None, **new_version)
        log(row, actor, Event.Action(kind.value), now)
    return job


def update_progress(jobs: JobQuerySet, now: datetime, *, consolidated: bool = False) -> None:
    """Update these jobs after a piece of work. A job may end when its bank was ``consolidated`` just now."""
    for job in jobs.open():
        remaining = _remaining(job)
        if (remaining == 0 or job.kind == Kind.COMPRESS) and (consolidated or _is_up_to_date(job, now)):
            Job.objects.filter(pk=job.pk, finished_at=None).update(finished_at=now, percent=100)
            continue
        done = 100 - ceil(100 * remaining / job.total) if job.total else 0
        Job.objects.filter(pk=job.pk, percent__lt=(percent := min(done, 99))).update(percent=percent)


def _require_possible(bank: Bank, kind: Job.Kind, now: datetime) -> None:
    if not bank.enabled:
        raise InvalidInput(_("Memory is off in this project."))
    if kind == Kind.REBUILD and budget_cap.is_stopped(bank, now):
        raise InvalidInput(_("The monthly cap is reached: what a model wrote would be replaced by what is extracted."))


def _mark_due(job: Job, chats: Collection[int] | None) -> None:
    own = Chat.objects.filter(bank=job.bank) if chats is None else Chat.objects.filter(bank=job.bank, pk__in=chats)
    match job.kind:
        case Kind.SUMMARISE:
            own.waiting().remembered().filter(parked_at=None).update(due_at=job.asked_at)
        case Kind.RETRY:
            own.parked().retry(job.asked_at)
        case Kind.REBUILD:  # no prompt shows an absorbed digest
            job.bank.entries.digests().filter(parent=None).update(stale=True)


def _remaining(job: Job) -> int:
    """How much is still to do. A chat gets its own due time again once it was tried or has a new turn."""
    match job.kind:
        case Kind.REBUILD:
            return job.bank.entries.digests().filter(stale=True).count()
        case Kind.COMPRESS:
            live = sum(node.tokens for node in job.bank.entries.all().frontier())
            return max(0, ceil(live - job.bank.max_tokens * conf.current().pressure))
        case _:
            return Chat.objects.filter(bank=job.bank, due_at=job.asked_at).count()


def _is_up_to_date(job: Job, now: datetime) -> bool:
    return not Bank.objects.filter(pk=job.bank_id, compress_at__lte=now).exists()
