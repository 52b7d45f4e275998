"""Admin of API keys: create (the key is shown once), list and revoke."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from projects.settings_pages.forms import APIKeyForm
from projects.tenancy import api_keys, permissions

from ..models import APIKey, Project
from .scoping import ProjectFilter, TenantScoped, is_staff, never


@admin.register(APIKey)
class APIKeyAdmin(TenantScoped):
    """API keys. Only hashes are stored, so a lost key cannot be shown again, only replaced by a new one."""

    tenant_lookup = "project__tenant"
    form = APIKeyForm
    list_display = ["name", "prefix", "project", "opens", "valid", "expires_at", "last_used_at"]
    list_select_related = ["project"]
    list_filter = [ProjectFilter]
    search_fields = ["name", "prefix"]
    ordering = ["-pk"]
    actions = ["revoke"]
    has_change_permission = has_delete_permission = never  # a revoked key stays visible, for the audit log
    has_revoke_permission = is_staff

    @admin.display(description=gettext_lazy("opens"))
    def opens(self, key: APIKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("takes names from"))
    def takes_names_from(self, key: APIKey) -> str:
        return key.name_sources.replace(",", ", ") or "–"

    @admin.display(description=gettext_lazy("valid"), boolean=True)
    def valid(self, key: APIKey) -> bool:
        return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())

    def get_fields(self, request: HttpRequest, obj: APIKey | None = None) -> Any:
        if obj is None:
            return ["project", "name", "scopes", "name_sources", "days"]
        shown = ["project", "name", "prefix", "opens", "takes_names_from"]
        return [*shown, "created_at", "expires_at", "revoked_at", "last_used_at"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        own = Project.objects.filter(tenant__in=permissions.tenants_for(request.user)).select_related("tenant")
        return super().formfield_for_foreignkey(db_field, request, **kwargs, queryset=own)

    def save_model(self, request: HttpRequest, obj: Any, form: APIKeyForm, change: bool) -> None:
        project, name, scopes = (form.cleaned_data[field] for field in ("project", "name", "scopes"))
        days, sources = form.cleaned_data["days"], form.cleaned_data["name_sources"]
        actor, now = request.user.get_username(), timezone.now()
        key, obj.secret = api_keys.issue(project, name, scopes, actor=actor, days=days, name_sources=sources, now=now)
        obj.pk, obj.prefix = key.pk, key.prefix

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Show the key in this response only: a Django message for the next page would store it in a cookie."""
        context = {**self.admin_site.each_context(request), "title": _("A new key"), "opts": self.opts}
        return TemplateResponse(request, "admin/projects/apikey/created.html", {**context, "key": obj})

    @admin.action(description=gettext_lazy("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> None:
        actor, now = request.user.get_username(), timezone.now()
        keys = queryset.select_related("project__tenant")
        count = sum(api_keys.revoke(key, actor=actor, now=now) for key in keys)
        text = ngettext("%d key is revoked.", "%d keys are revoked.", count)
        self.message_user(request, text % count, messages.SUCCESS)
