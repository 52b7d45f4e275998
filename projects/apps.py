"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from memorybank import i18n


class ProjectsConfig(AppConfig):
    """Tenants, memberships, projects, keys."""

    name = "projects"
    verbose_name = _("Projects")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        i18n.give_to_translators(self)
