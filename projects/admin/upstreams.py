"""Where a project's programs are answered from. Only superusers set it: an address is asked from within our network."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..models import Upstream
from .scoping import TenantScoped


class UpstreamForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The key goes in and never comes out."""

    new_key = forms.CharField(
        label=_("API key"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Kept encrypted and shown nowhere. Empty: the one it has."),
    )

    class Meta:
        model = Upstream
        fields = ["project", "protocol", "base_url", "allowed"]

    def save(self, commit: bool = True) -> Any:
        if self.cleaned_data["new_key"]:
            self.instance.api_key = self.cleaned_data["new_key"]
        return super().save(commit)


@admin.register(Upstream)
class UpstreamAdmin(TenantScoped):
    """Owners and admins of a tenant see where their projects' requests go."""

    tenant_lookup = "project__tenant"
    form = UpstreamForm
    list_display = ["project", "protocol", "base_url", "has_key"]
    list_select_related = ["project"]

    @admin.display(description=_("has a key"), boolean=True)
    def has_key(self, upstream: Upstream) -> bool:
        return bool(upstream.sealed_key)

    def get_fields(self, request: HttpRequest, obj: Upstream | None = None) -> Any:
        shown = ["project", "protocol", "base_url", "allowed"]
        return [*shown, "new_key"] if request.user.is_superuser else [*shown, "has_key"]

    def get_readonly_fields(self, request: HttpRequest, obj: Upstream | None = None) -> Any:
        return [] if request.user.is_superuser else ["has_key"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)
