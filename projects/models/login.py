"""Logins that went wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F


class LoginFailuresQuerySet(models.QuerySet["LoginFailures"]):
    """Sets of counts."""

    def note(self, keys: Iterable[str], now: datetime, *, forgotten: timedelta) -> None:
        """One more for each; what is old is dropped."""
        self.filter(last__lte=now - forgotten).delete()
        for key in keys:
            self.get_or_create(key=key, defaults={"last": now})
            self.filter(key=key).update(count=F("count") + 1, last=now)


class LoginFailures(models.Model):
    """How often a login went wrong for a name, or from an address: neither stands here in clear."""

    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    last = models.DateTimeField(db_index=True)

    objects: ClassVar[LoginFailuresQuerySet] = LoginFailuresQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.key[:8]

    @staticmethod
    def keys(**what: str) -> dict[str, str]:
        """What rows of these are known by."""
        return {kind: hashlib.sha256(f"{kind}:{value}".encode()).hexdigest() for kind, value in what.items()}
