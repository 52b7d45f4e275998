"""Tenants and who is in them, as what."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.tenancy import audit, permissions

from ..models import Membership, Project, Role, Tenant, TenantEvent
from .forms import MembershipForm
from .scoping import ReadOnlyAdmin, TenantFilter, TenantScoped, deletion


class MembersInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Who is in a tenant; changed on the membership's own page, which knows who may grant what."""

    model = Membership
    fields = ["user", "role"]
    readonly_fields = ["user", "role"]
    extra = 0
    can_delete = False
    show_change_link = True
    verbose_name_plural = _("members")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user", "tenant")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Tenant)
class TenantAdmin(TenantScoped):
    """Customers. Only superusers add and delete them."""

    tenant_lookup = "pk"
    list_display = ["name", "slug", "members", "project_count"]
    search_fields = ["name", "slug"]
    inlines = [MembersInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        counts = {
            "member_total": Count("memberships", distinct=True),
            "project_total": Count("projects", distinct=True),
        }
        tenants: Any = super().get_queryset(request)
        return tenants.annotate(**counts)  # type: ignore[no-any-return]

    @admin.display(description=_("members"), ordering="member_total")
    def members(self, tenant: Any) -> int:
        return int(tenant.member_total)

    @admin.display(description=_("projects"), ordering="project_total")
    def project_count(self, tenant: Any) -> int:
        return int(tenant.project_total)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Slugs are one for all tenants: who may choose one learns which are taken. The cap is for who pays."""
        return [] if request.user.is_superuser else ["slug", "monthly_cap"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action = audit.Action.CHANGE if change else audit.Action.CREATE
        told = {name: [form.initial.get(name), form.cleaned_data[name]] for name in form.changed_data}
        audit.log(obj, request.user.get_username(), action, timezone.now(), **told)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        for tenant in queryset:
            tenant.delete()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with a tenant; its projects do not protect it here, they are deleted first."""
        return deletion(
            gettext("tenant “%s”, with everything it remembers"), objs, Project.objects.filter(tenant__in=objs)
        )


@admin.register(Membership)
class MembershipAdmin(TenantScoped):
    """Who is in which tenant, and as what."""

    form = MembershipForm
    fields = ["tenant", "user", "role"]
    list_display = ["user", "tenant", "role"]
    list_select_related = ["user", "tenant"]
    list_filter = ["role", TenantFilter]
    search_fields = ["user__username", "tenant__slug", "tenant__name"]
    ordering = ["tenant__slug", "user__username"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["tenant", "user"] if obj else []

    def has_add_permission(self, request: HttpRequest) -> bool:
        """By name, without the person's yes: who may, learns which names there are. Others invite."""
        return bool(request.user.is_superuser)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"actor": request.user})

    def has_change_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return self._outranked(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return self._outranked(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with a member; the last owner stays."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        with transaction.atomic():
            left = permissions.last_owners(request.user, objs)
        return (
            deleted,
            counts,
            lacking,
            [*protected, *(gettext("the last owner of %(tenant)s") % {"tenant": tenant} for tenant in left)],
        )

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action, told = audit.Action.ADD, {"role": obj.role}
        if change:
            action, told = audit.Action.ROLE, {"before": form.initial["role"], "after": obj.role}
        person = obj.user.get_username()
        audit.log(obj.tenant, request.user.get_username(), action, timezone.now(), person=person, **told)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        self.delete_queryset(request, Membership.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        """Once more, held: two owners may remove each other at the same moment."""
        with transaction.atomic():
            if permissions.last_owners(request.user, queryset):
                raise PermissionDenied
            members = queryset.select_related("tenant", "user")
            audit.removed(members, request.user.get_username(), timezone.now())
            queryset.delete()

    def _outranked(self, request: HttpRequest, membership: Membership | None) -> bool:
        """Nobody changes or removes a member of higher role than her own."""
        if membership is None or not isinstance(membership, Membership):
            return bool(request.user.is_staff)
        return permissions.may(request.user, membership.tenant, Role(membership.role))  # type: ignore[arg-type]


@admin.register(TenantEvent)
class TenantEventAdmin(ReadOnlyAdmin, TenantScoped):
    """Who let whom into which tenant, as what; which projects were deleted. To look at only."""

    list_display = ["at", "action", "actor", "tenant", "detail"]
    list_select_related = ["tenant"]
    list_filter = ["action", TenantFilter]
    fields = ["at", "action", "actor", "tenant", "detail", "number", "seal"]
