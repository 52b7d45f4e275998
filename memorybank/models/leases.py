"""Leases: a worker claims a row by a conditional update, on any database, for a limited time.

The technique is that of ``sendalerts`` in healthchecks: filter on the expected state, update, and check the row count.
"""

from datetime import datetime
from typing import Any, Self, TypeVar
from uuid import uuid4

from django.db import models
from django.db.models import Q

from memorybank import conf

LeasedModel = TypeVar("LeasedModel", bound="Leased")


class LeasedQuerySet(models.QuerySet[LeasedModel]):
    def leasable(self, now: datetime) -> Self:
        """Rows without a valid lease at ``now``.

        A lease of more than twice its time comes from a machine whose clock is wrong, and would outlive it by as much.
        """
        ends_too_late = Q(leased_until__gt=now + 2 * conf.current().lease)
        return self.filter(Q(leased_until=None) | Q(leased_until__lte=now) | ends_too_late)

    def claim(self, pk: int, now: datetime) -> LeasedModel | None:
        """Take the lease of one row; None if another process holds it or the row was deleted."""
        token = uuid4().hex
        taken = self.filter(pk=pk).leasable(now).update(leased_until=now + conf.current().lease, lease_token=token)
        return self.filter(pk=pk, lease_token=token).first() if taken else None


class Leased(models.Model):
    """A row that one worker at a time may lease."""

    leased_until = models.DateTimeField(null=True, blank=True, editable=False)
    lease_token = models.CharField(max_length=32, blank=True, editable=False)

    class Meta:
        abstract = True

    def release(self, **changes: Any) -> bool:
        """Release the lease and write ``changes``; if the lease was lost, return False and write nothing."""
        token, self.lease_token = self.lease_token, ""
        if not token:
            return False
        own = type(self)._default_manager.filter(pk=self.pk, lease_token=token)
        return bool(own.update(leased_until=None, lease_token="", **changes))
