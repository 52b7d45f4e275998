"""App configuration."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MemoryBankConfig(AppConfig):
    """The reusable app: banks, chats, outputs, entries, facts."""

    name = "memorybank"
    verbose_name = _("Memory bank")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.core.signals import request_started
        from django.db.backends.signals import connection_created
        from django.db.models.signals import post_migrate, pre_migrate

        from memorybank import bank_scope, checks, i18n  # noqa: F401  (checks registers the system checks)
        from memorybank.models.public_id import make_key
        from memorybank.postgresql import row_security, vector_index

        post_migrate.connect(make_key, sender=self)
        post_migrate.connect(vector_index.install, sender=self)
        post_migrate.connect(row_security.install, sender=self)
        pre_migrate.connect(bank_scope.enter_all_banks, sender=self)
        connection_created.connect(row_security.attach)
        request_started.connect(bank_scope.leave)
        i18n.translate_models(self)
