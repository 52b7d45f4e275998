"""App configuration."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """Tenants, memberships, projects, keys."""

    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"
