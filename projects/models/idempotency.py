"""Requests to record that were answered, so that the same one sent again is answered the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from .key import APIKey

#: How long a request is known by its name.
KEPT = timedelta(hours=24)


class AnsweredQuerySet(models.QuerySet["Answered"]):
    """Sets of answers."""

    def of(self, key: APIKey, name: str, now: datetime) -> AnsweredQuerySet:
        """What the request of this name was answered, in its order; nothing after a day."""
        known = self.filter(api_key=key, name=Answered.hashed(key, name), at__gt=now - KEPT)
        return known.order_by("position")

    def expire(self, now: datetime) -> None:
        """Delete what is a day old."""
        self.filter(at__lte=now - KEPT).delete()


class Answered(models.Model):
    """One output of an answered request; its row goes with the output. Name and body are keyed hashes: no words."""

    api_key = models.ForeignKey("projects.APIKey", models.CASCADE, related_name="+")
    name = models.CharField(max_length=64, help_text="Of the header Idempotency-Key.")
    position = models.PositiveIntegerField()
    body = models.CharField(max_length=64)
    output = models.ForeignKey(
        "memorybank.Output",
        models.CASCADE,
        null=True,
        related_name="+",
        help_text="Empty: it was known before, or is not taken in.",
    )
    at = models.DateTimeField(db_index=True)

    objects: ClassVar[AnsweredQuerySet] = AnsweredQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Of two that are sent at once, one records.
            models.UniqueConstraint(name="answered_once", fields=["api_key", "name", "position"]),
        ]

    def __str__(self) -> str:
        return f"answer {self.pk}"

    @staticmethod
    def hashed(key: APIKey, what: str) -> str:
        """What a name or a body is known by; nobody without the site's key can try words."""
        return salted_hmac("projects.answered", f"{key.pk}:{what}", algorithm="sha256").hexdigest()
