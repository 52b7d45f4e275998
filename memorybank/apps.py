"""App configuration."""

from django.apps import AppConfig


class MemoryBankConfig(AppConfig):
    """The reusable app: banks, chats, outputs, entries, facts."""

    name = "memorybank"
    verbose_name = "Memory bank"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from memorybank import checks  # noqa: F401  (registers the system checks)
