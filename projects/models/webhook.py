"""Webhooks of a project, and their deliveries with the result of each. They contain no text of chats."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import parse_qsl, quote, urlsplit

from django.db import models
from django.db.models import F, Q

from .encryption import decrypt, encrypt
from .project import Project

#: The scheme of a webhook that is an e-mail address.
MAIL_SCHEME = "mailto"
#: The event of a message that a person sends to see whether the webhook works.
TEST = "test"
#: A claimed delivery is tried again after this time, in case its worker died.
DELIVERY_CLAIMED_FOR = timedelta(minutes=2)
#: Finished deliveries are kept for this long.
DELIVERIES_KEPT_FOR = timedelta(days=7)
#: Pauses after a failed attempt; after the last one the delivery has failed. 17.6 hours in all.
DELIVERY_RETRY_PAUSES = [timedelta(seconds=seconds) for seconds in (5, 60, 300, 1_800, 7_200, 18_000, 36_000)]


def mail_prefix(email: str) -> str:
    """How the URL of each webhook that notifies this e-mail address begins."""
    return f"{MAIL_SCHEME}:{quote(email)}?"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def language_of(self, email: str) -> str:
        """The language in which the owner of this address last chose to be notified, in any project; "" if never."""
        chosen = self.filter(url__startswith=mail_prefix(email)).order_by("-pk").first() if email else None
        return dict(parse_qsl(urlsplit(chosen.url).query)).get("language", "") if chosen else ""


class Webhook(models.Model):
    """An address that gets messages about events in a project's memory."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    encrypted_secret = models.TextField(editable=False)
    events = models.JSONField(default=list, help_text="The events that are sent; empty: all.")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    disabled_at = models.DateTimeField(null=True, blank=True)
    dropped = models.PositiveIntegerField(default=0, help_text="Events not sent, because too many were waiting.")

    objects: ClassVar[WebhookQuerySet] = WebhookQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"webhook of {self.project_id}"

    @property
    def secret(self) -> str:
        """The decrypted signing secret. Raises :class:`InvalidInput` if SECRET_KEY has changed."""
        return decrypt(self.encrypted_secret)

    @secret.setter
    def secret(self, value: str) -> None:
        self.encrypted_secret = encrypt(value)

    def wants(self, change: str) -> bool:
        return not self.events or change in self.events


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> DeliveryQuerySet:
        """Deliveries that have not been made or given up."""
        return self.filter(due_at__isnull=False)

    def due(self, now: datetime) -> DeliveryQuerySet:
        """Deliveries to make now, the longest due first."""
        return self.filter(due_at__lte=now, webhook__disabled_at=None).order_by("due_at", "pk")

    def claim(self, pk: int, now: datetime) -> bool:
        """Take a due delivery; False if another worker has it."""
        return bool(
            self.filter(pk=pk, due_at__lte=now).update(due_at=now + DELIVERY_CLAIMED_FOR, attempts=F("attempts") + 1)
        )

    def expire(self, now: datetime) -> None:
        """Delete finished deliveries and those of disabled webhooks, if older than ``DELIVERIES_KEPT_FOR``."""
        self.filter(
            Q(due_at=None) | Q(webhook__disabled_at__isnull=False), created_at__lt=now - DELIVERIES_KEPT_FOR
        ).delete()


class Delivery(models.Model):
    """One event for one webhook."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, help_text="A change of memory, as hooks name it.")
    subject = models.PositiveBigIntegerField(help_text="The id of the entry, fact, receipt or chat.")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, help_text="When to send it; empty: it was sent, or given up.")
    attempts = models.PositiveSmallIntegerField(default=0)
    delivered_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True, help_text="The HTTP status of the last attempt.")
    error = models.CharField(max_length=100, blank=True, help_text="Why the last attempt got no answer.")

    objects: ClassVar[DeliveryQuerySet] = DeliveryQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            # Queried by each sweep for due deliveries. It excludes finished ones.
            models.Index(name="delivery_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.event} for webhook {self.webhook_id}"

    def finish(self, now: datetime, status: int | None, error: str = "") -> None:
        """Record the result of an attempt: delivered, to be tried again after a pause, or given up.

        Status 410 disables the webhook.
        """
        self.status, self.error = status, error[:100]
        if status is not None and 200 <= status < 300:
            self.delivered_at, self.due_at = now, None
        elif status == 410 or self.attempts > len(DELIVERY_RETRY_PAUSES):
            self.due_at = None
        else:
            self.due_at = now + DELIVERY_RETRY_PAUSES[self.attempts - 1]
        self.save(update_fields=["status", "error", "delivered_at", "due_at"])
        if status == 410:
            Webhook.objects.filter(pk=self.webhook_id, disabled_at=None).update(disabled_at=now)
