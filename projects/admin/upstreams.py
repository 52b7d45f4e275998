"""Admin of upstreams. Only superusers may change them, because the server sends requests to their base URLs."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..models import Upstream
from .scoping import TenantScoped, is_superuser


class UpstreamForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """An upstream. Its API key is write-only."""

    new_key = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Stored encrypted and never shown. Leave empty to keep the current key."),
    )

    class Meta:
        model = Upstream
        fields = ["project", "protocol", "base_url", "allowed", "passed_headers", "passed_paths"]

    def save(self, commit: bool = True) -> Any:
        if self.cleaned_data["new_key"]:
            self.instance.api_key = self.cleaned_data["new_key"]
        return super().save(commit)


@admin.register(Upstream)
class UpstreamAdmin(TenantScoped):
    """Upstreams. Owners and admins of a tenant have read-only access."""

    tenant_lookup = "project__tenant"
    form = UpstreamForm
    list_display = ["project", "protocol", "base_url", "has_key"]
    list_select_related = ["project"]
    has_add_permission = has_change_permission = has_delete_permission = is_superuser

    @admin.display(description=_("has a key"), boolean=True)
    def has_key(self, upstream: Upstream) -> bool:
        return bool(upstream.sealed_key)

    def get_fields(self, request: HttpRequest, obj: Upstream | None = None) -> Any:
        return [*UpstreamForm.Meta.fields, "new_key" if request.user.is_superuser else "has_key"]

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> Any:
        return [] if request.user.is_superuser else ["has_key"]
