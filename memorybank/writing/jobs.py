"""What a person asks for at once: marked where work waits anyway, so that every worker does it, and measured there.

Nothing here does the work, so a worker that dies takes no job with it: what is marked is found by the next sweep.
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
from memorybank.models.job import JobQuerySet

Kind = Job.Kind


@at_present
def ask(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime = PRESENT
) -> Job:
    """Have the workers do something at once, for all ``chats`` (ids) or these; the job says how far they are.

    If a job is at it already, that one takes what has come since.

    Raises :class:`InvalidInput` if it cannot be done.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        _require_possible(row, kind, now)
        at_it = row.jobs.open().filter(kind=kind).first()
        job = at_it or Job(bank=row, kind=kind, asked_by=actor[:200], asked_at=now)
        _mark(job, chats)
        job.total = max(job.total, _left(job))
        job.save(update_fields=["total"] if at_it else None)  # how far it is, a worker may be saying
        # What waits to be settled has waited since before; a version of its own makes the block anew, too.
        again = {"version": F("version") + 1} if kind == Kind.REBUILD else {}
        Bank.objects.filter(pk=row.pk).update(compress_at=now, settled_at=None, **again)
        log(row, actor, Event.Action(kind.value), now)
    return job


def note(jobs: JobQuerySet, now: datetime, *, settled: bool = False) -> None:
    """A piece of work is over: how far these jobs are now. A bank that was ``settled`` just now may end some."""
    for job in jobs.open():
        left = _left(job)
        if (left == 0 or job.kind == Kind.COMPRESS) and (settled or _is_settled(job, now)):
            Job.objects.filter(pk=job.pk, finished_at=None).update(finished_at=now, percent=100)
            continue
        done = 100 - ceil(100 * left / job.total) if job.total else 0
        Job.objects.filter(pk=job.pk, percent__lt=(percent := min(done, 99))).update(percent=percent)


def _require_possible(bank: Bank, kind: Job.Kind, now: datetime) -> None:
    if not bank.enabled:
        raise InvalidInput(_("Memory is off in this project."))
    if kind == Kind.REBUILD and budget_cap.is_stopped(bank, now):
        raise InvalidInput(_("The monthly cap is reached: what a model wrote would be replaced by what is extracted."))


def _mark(job: Job, chats: Collection[int] | None) -> None:
    """Make the work due."""
    own = Chat.objects.filter(bank=job.bank) if chats is None else Chat.objects.filter(bank=job.bank, pk__in=chats)
    match job.kind:
        case Kind.SUMMARISE:
            own.waiting().filter(private=False, parked_at=None).update(due_at=job.asked_at)
        case Kind.RETRY:
            own.parked().retry(job.asked_at)
        case Kind.REBUILD:  # an absorbed digest is told nowhere
            job.bank.entries.digests().filter(parent=None).update(stale=True)


def _left(job: Job) -> int:
    """How much is still to do. A chat has its own time again once it was tried, or somebody writes in it."""
    match job.kind:
        case Kind.REBUILD:
            return job.bank.entries.digests().filter(stale=True).count()
        case Kind.COMPRESS:
            live = sum(size for *_, size in job.bank.entries.all().frontier())
            return max(0, ceil(live - job.bank.max_tokens * conf.current().pressure))
        case _:
            return Chat.objects.filter(bank=job.bank, due_at=job.asked_at).count()


def _is_settled(job: Job, now: datetime) -> bool:
    return not Bank.objects.filter(pk=job.bank_id, compress_at__lte=now).exists()
