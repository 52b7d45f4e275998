"""Projects, each with its memory bank, and the keys of programs to them."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q

from memorybank.models import Bank

from .tenant import SLUG, Membership, Role, Tenant


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
