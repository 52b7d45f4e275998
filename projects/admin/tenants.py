"""Admin of tenants, their members and their audit logs."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.tenancy import audit, permissions
from projects.tenancy.audit_log_page import event_text, event_url

from ..models import Membership, Project, Role, Tenant, TenantEvent
from .forms import MembershipForm
from .scoping import ReadOnlyAdmin, TenantFilter, TenantScoped, deletion_summary, is_staff, is_superuser, never


class MembersInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """The members of a tenant, read-only: roles are changed in the membership admin, which checks permissions."""

    model = Membership
    fields = ["user", "role"]
    readonly_fields = ["user", "role"]
    extra = 0
    can_delete = False
    show_change_link = True
    verbose_name_plural = _("members")
    has_view_permission = is_staff
    has_add_permission = has_change_permission = never

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user", "tenant")


@admin.register(Tenant)
class TenantAdmin(TenantScoped):
    tenant_lookup = "pk"
    list_display = ["name", "slug", "members", "project_count"]
    search_fields = ["name", "slug"]
    inlines = [MembersInline]
    has_add_permission = has_delete_permission = is_superuser

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        tenants: QuerySet[Any] = super().get_queryset(request)
        members, projects = Count("memberships", distinct=True), Count("projects", distinct=True)
        counted: QuerySet[Any] = tenants.annotate(member_total=members, project_total=projects)
        return counted

    @admin.display(description=_("members"), ordering="member_total")
    def members(self, tenant: Any) -> int:
        return int(tenant.member_total)

    @admin.display(description=_("projects"), ordering="project_total")
    def project_count(self, tenant: Any) -> int:
        return int(tenant.project_total)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only superusers may set the slug and the monthly cap.

        Errors about a taken slug would reveal other tenants' slugs. The operator sets the cap, because they pay.
        """
        return [] if request.user.is_superuser else ["slug", "monthly_cap"]

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action = audit.TenantAction.CHANGE if change else audit.TenantAction.CREATE
        changes = {name: [form.initial.get(name), form.cleaned_data[name]] for name in form.changed_data}
        audit.log(obj, request.user.get_username(), action, timezone.now(), **changes)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        for tenant in queryset:
            tenant.delete()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Do not list projects as protected objects: deleting a tenant deletes its projects first."""
        projects = Project.objects.filter(tenant__in=objs)
        return deletion_summary(gettext("tenant “%s”, with everything it remembers"), objs, projects)


@admin.register(Membership)
class MembershipAdmin(TenantScoped):
    form = MembershipForm
    fields = ["tenant", "user", "role"]
    list_display = ["user", "tenant", "role"]
    list_select_related = ["user", "tenant"]
    list_filter = ["role", TenantFilter]
    search_fields = ["user__username", "tenant__slug", "tenant__name"]
    ordering = ["tenant__slug", "user__username"]
    has_add_permission = is_superuser  # the form reveals which user names exist; others send invitations

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["tenant", "user"] if obj else []

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        return type(form.__name__, (form,), {"actor": request.user})

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Deny changing or removing a member whose role is above the user's own."""
        if not isinstance(obj, Membership):
            return bool(request.user.is_staff)
        return permissions.may(request.user, obj.tenant, Role(obj.role))  # type: ignore[arg-type]

    has_delete_permission = has_change_permission

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List a tenant's last owner as protected, so that the admin refuses to delete the membership."""
        deleted, counts, missing, protected = super().get_deleted_objects(objs, request)
        with transaction.atomic():
            ownerless = permissions.last_owners(request.user, objs)
        last_owners = [gettext("the last owner of %(tenant)s") % {"tenant": tenant} for tenant in ownerless]
        return deleted, counts, missing, [*protected, *last_owners]

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        action, detail = audit.TenantAction.ADD, {"role": obj.role}
        if change:
            action, detail = audit.TenantAction.ROLE, {"before": form.initial["role"], "after": obj.role}
        person = obj.user.get_username()
        audit.log(obj.tenant, request.user.get_username(), action, timezone.now(), person=person, **detail)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        """Check for the last owner again, under a lock: two owners may remove each other at the same time."""
        with transaction.atomic():
            if permissions.last_owners(request.user, queryset):
                raise PermissionDenied
            members = queryset.select_related("tenant", "user")
            audit.removed(members, request.user.get_username(), timezone.now())
            queryset.delete()


@admin.register(TenantEvent)
class TenantEventAdmin(ReadOnlyAdmin, TenantScoped):
    list_display = ["at", "actor", "did", "tenant"]
    list_filter = ["action", TenantFilter]
    fields = ["at", "actor", "did", "tenant", "what", "number", "seal"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        events: QuerySet[Any] = super().get_queryset(request).prefetch_related("tenant__projects")
        return events

    @admin.display(description=_("did"), ordering="action")
    def did(self, event: TenantEvent) -> str:
        if address := event_url(event):
            return format_html('{} · <a href="{}">{}</a>', event_text(event), address, gettext("open"))
        return event_text(event)
