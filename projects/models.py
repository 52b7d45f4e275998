"""Tenants and what belongs to them: members, projects, conversations, API keys."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q

from memorybank.models import Bank, Chat, Output

# No leading or trailing dash, so that "tenant/project" can be typed, quoted and logged anywhere.
SLUG = RegexValidator(
    r"^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$",
    "Use lower-case letters, digits, dashes and underscores, at most 64, beginning and ending with a letter or digit.",
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
        help_text="What the memory of all its projects may cost a month (UTC), in the currency of the prices; "
        "empty: no cap.",
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
    """What a member may do, most first: each may do all that the next ones may."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"

    def covers(self, needed: Role) -> bool:
        """Whether this role may do what ``needed`` may."""
        ranks = list(Role)
        return ranks.index(self) <= ranks.index(needed)


class Membership(models.Model):
    """A person in a tenant."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)

    class Meta:
        constraints = [
            # Two roles at once would make "what may she do" ambiguous.
            models.UniqueConstraint(name="membership_unique", fields=["tenant", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.tenant}"


class Invitation(models.Model):
    """Somebody asked to join a tenant, known by an address alone. It goes when it is accepted or withdrawn."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    sent_at = models.DateTimeField()

    class Meta:
        constraints = [
            # A second invitation replaces the first one, whose link then works no more.
            models.UniqueConstraint(name="invitation_unique", fields=["tenant", "email"]),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class ProjectQuerySet(models.QuerySet["Project"]):
    """Sets of projects."""

    def visible_to(self, user: User) -> ProjectQuerySet:
        """Projects of the tenants ``user`` is a member of: those open to all, and those she is named in or manages."""
        hers = Membership.objects.filter(user=user, tenant=OuterRef("tenant"))
        let_in = hers.filter(Q(role__in=[Role.OWNER, Role.ADMIN]) | Q(projects=OuterRef("pk")))
        return self.filter(Exists(hers), Q(members_only=False) | Exists(let_in))

    def at(self, path: str) -> ProjectQuerySet:
        """The project named ``tenant-slug/project-slug``."""
        tenant, _, project = path.partition("/")
        return self.filter(tenant__slug=tenant, slug=project)

    def open(self, tenant: Tenant, slug: str, name: str) -> Project:
        """A new project with a new bank, switched off. If it exists meanwhile, that one."""
        with transaction.atomic():
            Tenant.objects.select_for_update().get(pk=tenant.pk)
            existing = self.filter(tenant=tenant, slug=slug).select_related("bank").first()
            return existing or self.create(tenant=tenant, slug=slug, name=name, bank=Bank.objects.create())

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the banks, and with them these projects: no memory outlives its project."""
        return Bank.objects.filter(project__in=list(self)).delete()

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Project.objects.delete()


class Project(models.Model):
    """A shared space of chats, with its memory bank."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="projects")
    slug = models.CharField(max_length=64, validators=[SLUG])
    name = models.CharField(max_length=200)
    system_prompt = models.TextField(blank=True, help_text="Comes first in every prompt of this project.")
    bank = models.OneToOneField(Bank, models.CASCADE, related_name="project", editable=False)
    members_only = models.BooleanField(default=False, help_text="Open to those who are named, not to the whole tenant.")
    # By membership, so that nobody stays in a project of a tenant she has left.
    named = models.ManyToManyField(Membership, related_name="projects", blank=True)

    objects: ClassVar[ProjectQuerySet] = ProjectQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["tenant__slug", "slug"]
        constraints = [
            # T/P names one project.
            models.UniqueConstraint(name="project_slug_unique_in_tenant", fields=["tenant", "slug"]),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        """How commands and logs name it: ``tenant-slug/project-slug``."""
        return f"{self.tenant.slug}/{self.slug}"

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the bank, and with it this project: no memory outlives its project."""
        return self.bank.delete()


class ConversationQuerySet(models.QuerySet["Conversation"]):
    """Sets of conversations."""

    def of(self, owner: User, project: Project) -> ConversationQuerySet:
        """What ``owner`` wrote in ``project``, latest first; chats nobody wrote in yet come first."""
        mine = self.filter(owner=owner, chat__bank=project.bank_id).select_related("chat")
        return mine.order_by(F("chat__last_output_at").desc(nulls_first=True), "-pk")


class Conversation(models.Model):
    """Whose chat it is. Memory is shared in a project, transcripts are not."""

    chat = models.OneToOneField(Chat, models.CASCADE, related_name="conversation")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations")

    objects: ClassVar[ConversationQuerySet] = ConversationQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.chat)


class GivenWith(models.Model):
    """What an answer was given with: counts and a version, never text, so that erasure need not look here."""

    output = models.OneToOneField(Output, models.CASCADE, related_name="given_with")
    memory_version = models.PositiveBigIntegerField(help_text="Which stored block; 0: none.")
    memory_tokens = models.PositiveIntegerField(help_text="Tokens of the block.")
    recalled_tokens = models.PositiveIntegerField(default=0, help_text="Tokens of the notes beside the message.")
    prompt_tokens = models.PositiveIntegerField()
    answer_tokens = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"memory of output {self.output_id}"


class APIKey(models.Model):
    """A program's way into one project. Only a hash is kept; the key is shown once."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(name="api_key_hashed", condition=~Q(digest="")),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @staticmethod
    def hashed(key: str) -> str:
        """What is stored of a key: SHA-256 suffices, because keys are random, not chosen."""
        return hashlib.sha256(key.encode()).hexdigest()

    @classmethod
    def issue(cls, project: Project, name: str) -> tuple[APIKey, str]:
        """A new key and its only showing."""
        key = f"mb_{secrets.token_urlsafe(32)}"
        row = cls.objects.create(project=project, name=name, prefix=key[:12], digest=cls.hashed(key))
        return row, key


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
