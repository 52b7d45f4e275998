"""The audit log of a tenant: members, roles, projects created and deleted, API keys, chats shared to read."""

from __future__ import annotations

from django.db import models

from memorybank.models import HashChain, HashChainedEvent

from .tenant import Tenant


class TenantAuditLog(HashChain):
    """The end of a tenant's audit log: its length and last seal."""

    tenant = models.OneToOneField(Tenant, models.CASCADE, primary_key=True, related_name="audit_log")

    def __str__(self) -> str:
        return f"audit log of tenant {self.tenant_id}"


class TenantEvent(HashChainedEvent):
    """An event of a tenant's audit log. It names invitations by id, because e-mail addresses are deleted later."""

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
        HOOK = "hook", "Add or change a webhook"
        IMPORT = "import", "Import chats"
        SHARE = "share", "Share a chat to read"
        UNSHARE = "unshare", "Stop sharing a chat"
        UNHOOK = "unhook", "Delete a webhook"

    owner = "tenant"
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="events")
    action = models.CharField(max_length=20, choices=Action)

    class Meta(HashChainedEvent.Meta):
        constraints = [
            # As in the audit log of a bank: each position holds one event.
            models.UniqueConstraint(name="tenant_event_place_unique", fields=["tenant", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} tenant {self.tenant}"
