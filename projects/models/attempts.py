"""Counters of attempts that are limited, such as failed logins and invitations, by the hash of a name or address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F

#: Invitations, reset links and confirmation links, each counted for itself.
MAX_MAILS_PER_DAY = 5


class AttemptCounterQuerySet(models.QuerySet["AttemptCounter"]):
    def lock(self, keys: Iterable[str], now: datetime) -> None:
        """Lock a row for each key until the transaction ends, always in the same order."""
        for key in sorted(keys):
            self.select_for_update().get_or_create(key=key, defaults={"last": now})

    def add(self, keys: Iterable[str], now: datetime) -> None:
        """Count an attempt for each key."""
        self.filter(key__in=list(keys)).update(count=F("count") + 1, last=now)

    def count_mail(self, kind: str, email: str, now: datetime) -> bool:
        """Count a mail of this kind to an address; False if the address has had ``MAX_MAILS_PER_DAY`` today."""
        key = AttemptCounter.keys(**{kind: f"{now.date()} {email.lower()}"})[kind]
        self.get_or_create(key=key, defaults={"last": now})
        # A conditional update, so that of concurrent mails no more are counted than of consecutive ones.
        return bool(self.filter(key=key, count__lt=MAX_MAILS_PER_DAY).update(count=F("count") + 1, last=now))

    def subtract(self, key: str) -> None:
        """Subtract an attempt, such as a login that was counted before the password proved to be right."""
        self.filter(key=key, count__gt=0).update(count=F("count") - 1)


class AttemptCounter(models.Model):
    """The count of attempts of one kind: failed logins by a name or an address, mails to an address in a day.

    Stores only a hash.
    """

    key = models.CharField(max_length=64, unique=True)
    count = models.PositiveIntegerField(default=0)
    last = models.DateTimeField(db_index=True)

    objects: ClassVar[AttemptCounterQuerySet] = AttemptCounterQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.key[:8]

    @staticmethod
    def keys(**values: str) -> dict[str, str]:
        """The key of each kind of attempt: the hash of the kind with its name or address."""
        return {kind: hashlib.sha256(f"{kind}:{value}".encode()).hexdigest() for kind, value in values.items()}
