"""Request a job, and tell a worker at once, so that nobody waits for the next sweep."""

from collections.abc import Collection
from datetime import datetime

from memorybank import hooks
from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Job
from memorybank.writing import jobs


@at_present
def request_job(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime = PRESENT
) -> Job:
    """Make the workers do something at once, for all ``chats`` (ids) or these; the job reports the progress.

    An open job of the same kind takes the new work as well. Raises :class:`InvalidInput` if it cannot be done.
    """
    job = jobs.request_job(bank, kind, chats=chats, actor=actor, now=now)
    hooks.send_task("memorybank.tasks.work")
    return job
