"""Idempotency records: a recording request that is repeated within 24 hours gets the same response."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.utils.crypto import salted_hmac

if TYPE_CHECKING:
    from .key import APIKey

#: How long a request can be repeated.
REPEATABLE_FOR = timedelta(hours=24)


class IdempotencyRecordQuerySet(models.QuerySet["IdempotencyRecord"]):
    def of(self, key: APIKey, name: str, now: datetime) -> IdempotencyRecordQuerySet:
        """The outputs of the request with this idempotency key, in order; none after a day."""
        known = self.filter(api_key=key, name=IdempotencyRecord.hashed(key, name), at__gt=now - REPEATABLE_FOR)
        return known.order_by("position")

    def expire(self, now: datetime) -> None:
        """Delete records that are a day old."""
        self.filter(at__lte=now - REPEATABLE_FOR).delete()


class IdempotencyRecord(models.Model):
    """One output of a request; stays for a day, also if the output is erased.

    ``name`` and ``body`` are keyed hashes: no words.
    """

    api_key = models.ForeignKey("projects.APIKey", models.CASCADE, related_name="+")
    name = models.CharField(max_length=64, help_text="Of the header Idempotency-Key.")
    position = models.PositiveIntegerField()
    body = models.CharField(max_length=64)
    output = models.ForeignKey(
        "memorybank.Output",
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="Empty: it was known before, was not taken in, or has been erased.",
    )
    at = models.DateTimeField(db_index=True)

    objects: ClassVar[IdempotencyRecordQuerySet] = IdempotencyRecordQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # If the same request is sent twice at once, only one of the two records.
            models.UniqueConstraint(name="idempotency_record_once", fields=["api_key", "name", "position"]),
        ]

    def __str__(self) -> str:
        return f"idempotency record {self.pk}"

    @staticmethod
    def hashed(key: APIKey, what: str) -> str:
        """A keyed hash of a name or a body: without the site's secret key nobody can guess the words."""
        return salted_hmac("projects.idempotency", f"{key.pk}:{what}", algorithm="sha256").hexdigest()
