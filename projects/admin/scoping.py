"""What every admin page of tenants' things shares: rights follow roles, and nobody sees another tenant's."""

from typing import Any

from django.db.models import Count, QuerySet
from django.http import HttpRequest

from memorybank.admin.lookups import ReadOnlyAdmin, RestrictedLookupsAdmin
from projects.models import Project, Tenant
from projects.tenancy import permissions

__all__ = ["ReadOnlyAdmin", "TenantScoped", "deletion"]


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
