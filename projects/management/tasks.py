"""Delete expired sessions, old daily statistics and old ids of upstreams, as a Celery task."""

from datetime import datetime
from importlib import import_module

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from memorybank import services

from ..models import IdempotencyRecord, UpstreamObject


@shared_task
def clean_up() -> None:
    """Run :func:`delete_expired`. Beat sends it once a day; two tasks at once are harmless."""
    delete_expired(timezone.now())


@services.all_banks_entered()
def delete_expired(now: datetime) -> int:
    """Delete ended sessions, and the counts of days more than ``STATISTICS_DAYS`` ago; return how many counts.

    Also records of API requests that can no longer be repeated, and old ids of upstreams that belong to no chat.
    """
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
    IdempotencyRecord.objects.expire(now)
    UpstreamObject.objects.expire(now)
    deleted: int = services.expire_statistics(now)
    return deleted
