"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ProjectsConfig(AppConfig):
    """Tenants, memberships, projects, keys."""

    name = "projects"
    verbose_name = _("Projects")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from memorybank import services  # it can only be imported after all models are loaded

        services.translate_models(self)
