"""The Celery task for webhooks. Deliveries are in the database, so a lost task delays them by one interval."""

from celery import shared_task
from django.utils import timezone

from memorybank import services

from .delivering import deliver_due
from .queue import DELIVER_TASK

#: Limit of rounds in one task, so that other tasks get a turn.
MAX_ROUNDS_PER_TASK = 10


@shared_task(name=DELIVER_TASK)
@services.all_banks_entered()
def deliver() -> None:
    """Deliver until nothing is due. Two tasks may run concurrently, because each delivery is claimed."""
    for _ in range(MAX_ROUNDS_PER_TASK):
        if not deliver_due(timezone.now()):
            return
