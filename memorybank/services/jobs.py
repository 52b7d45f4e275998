"""Request a job and notify a worker at once, instead of waiting for the next sweep."""

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
    """Request a job of this kind for the chats with the ids ``chats`` (default: all), and return it.

    The job reports its progress. If a job of the same kind is open, it gets the new work and is returned. Raises
    :class:`InvalidInput` if memory is off, or for a rebuild if the monthly cap is reached.
    """
    job = jobs.request_job(bank, kind, chats=chats, actor=actor, now=now)
    hooks.send_task("memorybank.tasks.work")
    return job
