"""The admin site, limited to the memory banks that the user may see."""

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from projects.tenancy import permissions


class MemoryAdminSite(AdminSite):
    """Django's admin site. Its permission check also enters the banks that the user may see."""

    def has_permission(self, request: HttpRequest) -> bool:
        allowed = super().has_permission(request)
        if allowed:
            permissions.enter_banks_for(request.user)
        return allowed
