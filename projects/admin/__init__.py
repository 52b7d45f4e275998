"""Tenants, people, projects and keys in the admin. Staff see the tenants they are owner or admin of, no others."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from . import keys, projects, tenants, upstreams, users

__all__ = ["keys", "projects", "tenants", "upstreams", "users"]

admin.site.site_header = admin.site.site_title = "Memory Bank"
admin.site.enable_nav_sidebar = False  # lists need the space; a project's tabs lead from page to page
admin.site.index_title = _("Tenants, projects and their memory")
