"""Projects, each with its memory bank."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import Exists, OuterRef, Q

from memorybank.services.banks import create_bank, delete_banks  # not all services: the chain of imports is long

from .tenant import SLUG, Membership, Role, Tenant


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: User) -> ProjectQuerySet:
        """Projects of the user's tenants that are open to all members or name the user; all for owners and admins."""
        memberships = Membership.objects.filter(user=user, tenant=OuterRef("tenant"))
        let_in = memberships.filter(Q(role__in=[Role.OWNER, Role.ADMIN]) | Q(projects=OuterRef("pk")))
        return self.filter(Exists(memberships), Q(members_only=False) | Exists(let_in))

    def at(self, path: str) -> ProjectQuerySet:
        """The project named ``tenant-slug/project-slug``."""
        tenant, _, project = path.partition("/")
        return self.filter(tenant__slug=tenant, slug=project)

    def open(self, tenant: Tenant, slug: str, name: str) -> Project:
        """Create a project with a new bank, whose memory is off; return the existing one if the slug is taken."""
        with transaction.atomic():
            Tenant.objects.select_for_update().get(pk=tenant.pk)
            existing = self.filter(tenant=tenant, slug=slug).select_related("bank").first()
            return existing or self.create(tenant=tenant, slug=slug, name=name, bank=create_bank())

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the banks, and with them these projects: no memory outlives its project."""
        return delete_banks([project.bank_id for project in self])

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Project.objects.delete()


class Project(models.Model):
    """A shared space of chats, with its memory bank."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="projects")
    slug = models.CharField(max_length=64, validators=[SLUG])
    name = models.CharField(max_length=200)
    system_prompt = models.TextField(blank=True, help_text="Comes first in every prompt of this project.")
    bank = models.OneToOneField("memorybank.Bank", models.CASCADE, related_name="project", editable=False)
    members_only = models.BooleanField(default=False, help_text="Open to those who are named, not to the whole tenant.")
    # By membership, so that nobody stays in a project of a tenant that they have left.
    named = models.ManyToManyField(Membership, related_name="projects", blank=True)

    objects: ClassVar[ProjectQuerySet] = ProjectQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["tenant__slug", "slug"]
        constraints = [
            # ``tenant-slug/project-slug`` identifies one project.
            models.UniqueConstraint(name="project_slug_unique_in_tenant", fields=["tenant", "slug"]),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> str:
        """The project's name in commands and logs: ``tenant-slug/project-slug``."""
        return f"{self.tenant.slug}/{self.slug}"

    @property
    def cap(self) -> Decimal | None:
        """The lower of the monthly cost limits of the project and its tenant; None if neither has one."""
        return min((cap for cap in (self.bank.monthly_cap, self.tenant.monthly_cap) if cap is not None), default=None)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the bank, and with it this project: no memory outlives its project."""
        return delete_banks([self.bank_id])
