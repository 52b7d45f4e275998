"""The trail of a tenant: who let whom in, as what, what became of its projects, and their keys."""

from __future__ import annotations

from django.db import models

from memorybank.services import Head, Sealed

from .tenant import Tenant


class TenantTrail(Head):
    """Where the trail of a tenant ends."""

    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True, related_name="trail")

    def __str__(self) -> str:
        return f"trail of tenant {self.tenant_id}"


class TenantEvent(Sealed):
    """Who did what to the people of a tenant. Append-only; invitations by number, because addresses are forgotten."""

    class Action(models.TextChoices):
        CREATE = "create"
        CHANGE = "change"
        INVITE = "invite"
        WITHDRAW = "withdraw"
        JOIN = "join"
        ADD = "add"
        ROLE = "role"
        REMOVE = "remove"
        OPEN = "open", "Open a project"
        DELETE = "delete", "Delete a project"
        ISSUE = "issue", "Issue a key"
        REVOKE = "revoke", "Revoke a key"

    owner = "tenant"
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="events")
    action = models.CharField(max_length=20, choices=Action)

    class Meta(Sealed.Meta):
        constraints = [
            # As those of a bank.
            models.UniqueConstraint(name="tenant_event_place_unique", fields=["tenant", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} tenant {self.tenant}"
