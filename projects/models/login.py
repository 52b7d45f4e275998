"""Counters of failed logins and other attempts, by the hash of a name or address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F


class LoginFailuresQuerySet(models.QuerySet["LoginFailures"]):
    def lock(self, keys: Iterable[str], now: datetime) -> None:
        """Lock a row for each key until the transaction ends, always in the same order."""
        for key in sorted(keys):
            self.select_for_update().get_or_create(key=key, defaults={"last": now})

    def add(self, keys: Iterable[str], now: datetime) -> None:
        """Count a failure for each key."""
        self.filter(key__in=list(keys)).update(count=F("count") + 1, last=now)

    def subtract(self, key: str) -> None:
        """Subtract a failure that was counted before the password proved to be right."""
        self.filter(key=key, count__gt=0).update(count=F("count") - 1)


class LoginFailures(models.Model):
    """The count of failed logins of a name or address, or of a day's invitations to an address; stores only a hash."""

    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    last = models.DateTimeField(db_index=True)

    objects: ClassVar[LoginFailuresQuerySet] = LoginFailuresQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.key[:8]

    @staticmethod
    def keys(**values: str) -> dict[str, str]:
        """The hash of each name or address."""
        return {kind: hashlib.sha256(f"{kind}:{value}".encode()).hexdigest() for kind, value in values.items()}
