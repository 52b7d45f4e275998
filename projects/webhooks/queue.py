"""Put events into the queue of each webhook of a project, in the transaction in which they happen."""

from collections.abc import Sequence

from django.db.models import F
from django.utils import timezone

from memorybank.services import Change, send_task

from ..models import Delivery, Webhook
from . import mail

#: Of one webhook. Further events are counted and not sent.
MAX_WAITING = 1_000
DELIVER = "projects.webhooks.tasks.deliver"


def enqueue(bank_id: int, change: Change, ids: Sequence[int]) -> None:
    """One delivery for each id and each webhook that wants it. One query if there is no webhook."""
    webhooks = Webhook.objects.filter(project__bank=bank_id, disabled_at=None)
    wanting = [webhook for webhook in webhooks if webhook.wants(change)]
    if not wanting:
        return
    now = timezone.now()
    for webhook in wanting:
        due = now + mail.GATHERING if mail.recipient(webhook) else now
        room = max(0, MAX_WAITING - Delivery.objects.filter(webhook=webhook).waiting().count())
        Delivery.objects.bulk_create(
            Delivery(webhook=webhook, event=change.value, subject=pk, created_at=now, due_at=due) for pk in ids[:room]
        )
        if dropped := len(ids[room:]):
            Webhook.objects.filter(pk=webhook.pk).update(dropped=F("dropped") + dropped)
    send_task(DELIVER)
