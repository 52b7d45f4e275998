"""What every admin page of tenants' things shares: rights follow roles, and nobody sees another tenant's."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memorybank.admin.lookups import ReadOnlyAdmin, RestrictedLookupsAdmin
from projects.models import Project, Tenant
from projects.tenancy import permissions

__all__ = ["ProjectFilter", "ReadOnlyAdmin", "TenantFilter", "TenantScoped", "deletion"]


class TenantFilter(admin.SimpleListFilter):
    """By tenant, if the person has more than one."""

    title = _("tenant")
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tenants = permissions.tenants_for(request.user).order_by("name", "slug")
        return [(tenant.slug, str(tenant)) for tenant in tenants]

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(tenant__slug=self.value()) if self.value() else queryset


class ProjectFilter(admin.SimpleListFilter):
    """By project, if the person has more than one with a key."""

    title = _("project")
    parameter_name = "project"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        shown = model_admin.get_queryset(request).order_by().values("project")
        projects = Project.objects.filter(pk__in=shown).select_related("tenant").order_by("tenant__slug", "slug")
        return [(project.path, str(project)) for project in projects]

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        tenant, _slash, slug = (self.value() or "").partition("/")
        return queryset.filter(project__tenant__slug=tenant, project__slug=slug) if slug else queryset


class TenantScoped(RestrictedLookupsAdmin):
    """Rights follow roles in tenants, not Django's permissions: being staff opens the page, the queryset decides.

    Every page, filter, choice and history of the admin reaches its objects through ``get_queryset``.
    """

    tenant_lookup = "tenant"
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        tenants = permissions.tenants_for(request.user)
        return super().get_queryset(request).filter(**{f"{self.tenant_lookup}__in": tenants})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Tenant:
            kwargs["queryset"] = permissions.tenants_for(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Who has one tenant need not choose it."""
        tenants = permissions.tenants_for(request.user)[:2]
        return {
            **({"tenant": tenants[0].pk} if len(tenants) == 1 else {}),
            **super().get_changeform_initial_data(request),
        }

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)


def deletion(
    words: str, objs: Any, projects: QuerySet[Project]
) -> tuple[list[str], dict[str, int], set[str], list[str]]:
    """The admin's confirmation: what goes, how much of it, which permissions lack, what forbids it."""
    counts = projects.aggregate(
        projects=Count("pk", distinct=True),
        chats=Count("bank__chats", distinct=True),
        facts=Count("bank__entries__facts", distinct=True),
    )
    return [words % obj for obj in objs], counts, set(), []
