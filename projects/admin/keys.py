"""The keys of programs: made and shown once, looked at, revoked."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from projects.tenancy import api_keys, permissions

from ..models import APIKey, Project
from .forms import APIKeyForm
from .scoping import ProjectFilter, TenantScoped


@admin.register(APIKey)
class APIKeyAdmin(TenantScoped):
    """A key is a hash here: whoever has not kept it makes another."""

    tenant_lookup = "project__tenant"
    form = APIKeyForm
    list_display = ["name", "prefix", "project", "opens", "valid", "expires_at", "last_used_at"]
    list_select_related = ["project"]
    list_filter = [ProjectFilter]
    search_fields = ["name", "prefix"]
    ordering = ["-pk"]
    actions = ["revoke"]

    @admin.display(description=gettext_lazy("opens"))
    def opens(self, key: APIKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("valid"), boolean=True)
    def valid(self, key: APIKey) -> bool:
        return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())

    def get_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        if obj is None:
            return ["project", "name", "scopes", "days"]
        return ["project", "name", "prefix", "opens", "created_at", "expires_at", "revoked_at", "last_used_at"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        own = Project.objects.filter(tenant__in=permissions.tenants_for(request.user)).select_related("tenant")
        return super().formfield_for_foreignkey(db_field, request, **kwargs, queryset=own)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Revoked it stays, to be seen with what was done with it; it goes with its project."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def save_model(self, request: HttpRequest, obj: Any, form: APIKeyForm, change: bool) -> None:
        given = form.cleaned_data
        made, obj.shown = api_keys.issue(
            given["project"],
            given["name"],
            given["scopes"],
            actor=request.user.get_username(),
            days=given["days"],
            now=timezone.now(),
        )
        obj.pk, obj.prefix = made.pk, made.prefix

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """The key stands in this answer and nowhere else: a message to the next page would be kept in a cookie."""
        context = {**self.admin_site.each_context(request), "title": _("A new key"), "opts": self.opts}
        return TemplateResponse(request, "admin/projects/apikey/made.html", {**context, "key": obj})

    @admin.action(description=gettext_lazy("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> None:
        """From now on."""
        actor, now = request.user.get_username(), timezone.now()
        chosen = queryset.select_related("project__tenant")
        count = sum(api_keys.revoke(key, actor=actor, now=now) for key in chosen)
        text = ngettext("%d key opens nothing any more.", "%d keys open nothing any more.", count)
        self.message_user(request, text % count, messages.SUCCESS)
