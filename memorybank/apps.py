"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MemoryBankConfig(AppConfig):
    """The reusable app: banks, chats, outputs, entries, facts."""

    name = "memorybank"
    verbose_name = _("Memory bank")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from memorybank import checks, i18n  # noqa: F401  (checks registers the system checks)
        from memorybank.models.public_id import make_key

        post_migrate.connect(make_key, sender=self)
        i18n.translate_models(self)
