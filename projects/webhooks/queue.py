"""Put events into the queue of each webhook of a project, in the transaction in which they happen."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from memorybank.services import Change, PreparedQuery, send_task

from ..models import Delivery, Webhook
from ..models.webhook import TEST
from . import mail

#: Limit of waiting deliveries for one webhook. Further events are not sent, only counted in ``dropped``.
MAX_WAITING_DELIVERIES = 1_000
DELIVER_TASK = "projects.webhooks.tasks.deliver"

_WEBHOOKS = PreparedQuery(lambda bank: Webhook.objects.filter(project__bank=bank, disabled_at=None))


def enqueue(bank_id: int, change: Change, ids: Sequence[int]) -> None:
    """Queue a delivery for each id and each webhook that wants the event. One query if there is no webhook."""
    wanting = [webhook for webhook in _WEBHOOKS.rows(bank_id) if webhook.wants(change)]
    if not wanting:
        return
    now = timezone.now()
    for webhook in wanting:
        due = now + mail.MAIL_GATHERING_TIME if mail.recipient(webhook) else now
        room = max(0, MAX_WAITING_DELIVERIES - Delivery.objects.filter(webhook=webhook).waiting().count())
        Delivery.objects.bulk_create(
            Delivery(webhook=webhook, event=change.value, subject=pk, created_at=now, due_at=due) for pk in ids[:room]
        )
        if dropped := len(ids[room:]):
            Webhook.objects.filter(pk=webhook.pk).update(dropped=F("dropped") + dropped)
    send_task(DELIVER_TASK)


def enqueue_test(webhook: Webhook, now: datetime) -> None:
    """Queue a message by which a person sees whether the webhook's address answers."""
    Delivery.objects.create(webhook=webhook, event=TEST, subject=0, created_at=now, due_at=now)
    send_task(DELIVER_TASK)
