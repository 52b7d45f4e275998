"""Request a job, and tell a worker at once, so that nobody waits for the next sweep."""

import logging
from collections.abc import Collection
from datetime import datetime
from importlib.util import find_spec

from django.db import transaction

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Job
from memorybank.writing import jobs

logger = logging.getLogger(__name__)


@at_present
def request_job(
    bank: Bank, kind: Job.Kind, *, chats: Collection[int] | None = None, actor: str, now: datetime = PRESENT
) -> Job:
    """Make the workers do something at once, for all ``chats`` (ids) or these; the job reports the progress.

    An open job of the same kind takes the new work as well. Raises :class:`InvalidInput` if it cannot be done.
    """
    job = jobs.request_job(bank, kind, chats=chats, actor=actor, now=now)
    transaction.on_commit(_start_work)
    return job


def _start_work() -> None:
    """Send the message that the sweep sends. If there is no broker, the next sweep finds the work."""
    if not find_spec("celery"):
        return
    from memorybank.tasks import work

    try:
        work.apply_async((), expires=conf.current().sweep_seconds, retry=False)
    except Exception as error:  # each broker has its own errors
        logger.warning("no worker was told of a job: %s", type(error).__name__)
