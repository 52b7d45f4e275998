"""Tenants, their members with roles, and invitations."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

# No leading or trailing dash, so that "tenant/project" can be typed, quoted and logged anywhere.
SLUG = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$",
    _(
        "Use lower-case letters, digits, dashes and underscores, at most 64, "
        "beginning and ending with a letter or digit."
    ),
)


class Tenant(models.Model):
    """A customer. Nothing of one tenant is readable, countable or inferable by another."""

    slug = models.CharField(max_length=64, unique=True, validators=[SLUG])
    name = models.CharField(max_length=200)
    monthly_cap = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="Monthly limit (UTC) for the memory of all its projects, in the currency of your price settings. "
        "Leave empty for none. When it is reached, memory quotes the chats without a model; later the model writes "
        "it again.",
    )

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.name

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete its projects and their banks first."""
        self.projects.all().delete()
        return super().delete(*args, **kwargs)


class Role(models.TextChoices):
    """The roles of members; each role includes all roles after it."""

    OWNER = "owner", _("Owner")
    ADMIN = "admin", _("Admin")
    MEMBER = "member", _("Member")
    VIEWER = "viewer", _("Viewer")

    def covers(self, needed: Role) -> bool:
        ranks = list(Role)
        return ranks.index(self) <= ranks.index(needed)


class Membership(models.Model):
    """A user in a tenant.

    ``person`` is their key in the tenant's banks. It is deleted with the membership, so somebody who has left can no
    longer read memory restricted to them, even if they are invited again; nor can another user with the same name.
    Only their own chats let them in again, when they next write there (``readmit_owner``).
    """

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    person = models.CharField(max_length=64, unique=True, default=token_hex, editable=False)

    class Meta:
        constraints = [
            # Two roles at once would be ambiguous.
            models.UniqueConstraint(name="membership_unique", fields=["tenant", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.tenant}"


class Invitation(models.Model):
    """An invitation to an e-mail address. Deleted when it is accepted or withdrawn."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    sent_at = models.DateTimeField()

    class Meta:
        constraints = [
            # A second invitation replaces the first one, whose link then no longer works.
            models.UniqueConstraint(name="invitation_unique", fields=["tenant", "email"]),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"
