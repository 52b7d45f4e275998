"""Celery's task that delivers webhooks. The database says what is due, so a lost message costs one interval."""

from celery import shared_task
from django.utils import timezone

from memorybank import services

from .delivering import deliver_due
from .queue import DELIVER

#: Rounds of one task, so that other work has its turn.
MAX_ROUNDS = 10


@shared_task(name=DELIVER)
@services.every_bank()
def deliver() -> None:
    """Deliver until nothing is due. Harmless if it runs twice at once: each delivery is claimed."""
    for _ in range(MAX_ROUNDS):
        if not deliver_due(timezone.now()):
            return
