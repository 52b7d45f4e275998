"""Base classes and filters for admin pages: permissions come from roles, and rows are limited to own tenants."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memorybank.admin.lookups import ReadOnlyAdmin as ReadOnlyAdmin
from memorybank.admin.lookups import RestrictedLookupsAdmin
from memorybank.admin.lookups import never as never
from projects.models import Project, Tenant
from projects.tenancy import permissions


def is_staff(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """A permission method for admin classes: allow staff."""
    return bool(request.user.is_staff)


def is_superuser(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """A permission method for admin classes: allow superusers."""
    return bool(request.user.is_superuser)


class TenantFilter(admin.SimpleListFilter):
    """Filter by tenant. Shown only to users with more than one tenant."""

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
    """Filter by project. Shown only if the list has rows of more than one project."""

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
    """Staff may open every page; ``get_queryset`` limits rows to their tenants. Ignores Django's permissions."""

    tenant_lookup = "tenant"
    show_full_result_count = False
    has_module_permission = has_view_permission = is_staff
    has_add_permission = has_change_permission = has_delete_permission = is_staff

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        tenants = permissions.tenants_for(request.user)
        return super().get_queryset(request).filter(**{f"{self.tenant_lookup}__in": tenants})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Tenant:
            kwargs["queryset"] = permissions.tenants_for(request.user)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Preselect the tenant of a user with only one."""
        tenants = permissions.tenants_for(request.user)[:2]
        only = {"tenant": tenants[0].pk} if len(tenants) == 1 else {}
        return {**only, **super().get_changeform_initial_data(request)}

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.delete_queryset(request, self.model._default_manager.filter(pk=obj.pk))


def deletion_summary(
    label: str, objs: Any, projects: QuerySet[Project]
) -> tuple[list[str], dict[str, int], set[str], list[str]]:
    """The return value of ``get_deleted_objects``: names, counts, missing permissions, protected objects."""
    counts = projects.aggregate(
        projects=Count("pk", distinct=True),
        chats=Count("bank__chats", distinct=True),
        facts=Count("bank__entries__facts", distinct=True),
    )
    return [label % obj for obj in objs], counts, set(), []
