"""The admin site: whoever is let in enters the banks whose memory they may see."""

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from projects.tenancy import permissions


class MemoryAdminSite(AdminSite):
    """Django's admin, inside the banks of its user."""

    def has_permission(self, request: HttpRequest) -> bool:
        allowed = super().has_permission(request)
        if allowed:
            permissions.enter_banks_for(request.user)
        return allowed
