"""Jobs: work that a person requests now. It is marked as due, so the ordinary workers do it and report progress.

Nothing here does the work, so no job is lost if a worker dies: the next sweep finds the marked work.
"""

from collections.abc import Collection, Iterable
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
from memorybank.prepared import PreparedQuery

JobKind = Job.Kind
#: The unfinished jobs of a chat's bank: asked after each chat.
_OPEN_JOBS_OF_CHAT = PreparedQuery(lambda chat: Job.objects.open().filter(bank__chats=chat))


@at_present
def request_job(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime = PRESENT
) -> Job:
    """Request work of a kind at once, for all chats or those with the ids ``chats``; the job reports the progress.

    An open job of the same kind takes the new work as well. Raises :class:`InvalidInput` if the work is not possible.
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
        new_version = {"version": F("version") + 1} if kind == JobKind.REBUILD else {}
        Bank.objects.filter(pk=row.pk).update(consolidate_at=now, consolidated_at=None, **new_version)
        log(row, actor, Event.Action(kind.value), now)
    return job


def after_chat(chat_id: int, now: datetime) -> None:
    """Update the jobs of a chat's bank after the chat was summarised, or was tried."""
    _update(_OPEN_JOBS_OF_CHAT.rows(chat_id), now)


def after_digest(bank: Bank, now: datetime) -> None:
    """Update the bank's jobs after one of several digests was written."""
    _update(bank.jobs.open(), now)


def after_consolidation(bank_id: int, now: datetime) -> None:
    """Update the jobs of a bank that was consolidated just now, which may end them."""
    _update(Job.objects.open().filter(bank=bank_id), now, consolidated=True)


def _update(jobs: Iterable[Job], now: datetime, *, consolidated: bool = False) -> None:
    for job in jobs:
        remaining = _remaining(job)
        if (remaining == 0 or job.kind == JobKind.COMPRESS) and (consolidated or _is_up_to_date(job, now)):
            Job.objects.filter(pk=job.pk, finished_at=None).update(finished_at=now, percent=100)
            continue
        done = 100 - ceil(100 * remaining / job.total) if job.total else 0
        Job.objects.filter(pk=job.pk, percent__lt=(percent := min(done, 99))).update(percent=percent)


def _require_possible(bank: Bank, kind: Job.Kind, now: datetime) -> None:
    if not bank.enabled:
        raise InvalidInput(_("Memory is off in this project."))
    if kind == JobKind.REBUILD and budget_cap.forbids_calls(bank, now):
        raise InvalidInput(_("The monthly cap is reached: what a model wrote would be replaced by what is extracted."))


def _mark_due(job: Job, chats: Collection[int] | None) -> None:
    own = Chat.objects.filter(bank=job.bank) if chats is None else Chat.objects.filter(bank=job.bank, pk__in=chats)
    match job.kind:
        case JobKind.SUMMARISE:
            own.waiting().remembered().filter(parked_at=None).update(due_at=job.asked_at)
        case JobKind.RETRY:
            own.parked().retry(job.asked_at)
        case JobKind.REBUILD:  # no prompt shows an absorbed digest
            job.bank.entries.digests().visible_to().filter(parent=None).update(stale=True)


def _remaining(job: Job) -> int:
    """The work left, in digests, tokens or chats. A chat is done once a try or a new turn has changed its due time."""
    match job.kind:
        case JobKind.REBUILD:
            return job.bank.entries.digests().visible_to().filter(stale=True).count()
        case JobKind.COMPRESS:
            live = sum(node.tokens for node in job.bank.entries.all().frontier())
            return max(0, ceil(live - job.bank.max_tokens * conf.current().pressure))
        case _:
            return Chat.objects.filter(bank=job.bank, due_at=job.asked_at).count()


def _is_up_to_date(job: Job, now: datetime) -> bool:
    return not Bank.objects.filter(pk=job.bank_id, consolidate_at__lte=now).exists()
