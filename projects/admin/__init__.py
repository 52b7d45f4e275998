"""Admin of tenants, members, projects and API keys. Staff see only tenants of which they are owner or admin."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from . import keys, projects, tenants, upstreams, users

__all__ = ["keys", "projects", "tenants", "upstreams", "users"]

admin.site.site_header = admin.site.site_title = "Memory Bank"
admin.site.enable_nav_sidebar = False  # lists need the space, and a project's tabs are the navigation
admin.site.index_title = _("Tenants, projects and their memory")
