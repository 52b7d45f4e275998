"""Django's admin, found with the addresses of the site: no command needs it to begin."""

from typing import Any

from django.contrib.admin import apps, autodiscover, checks
from django.core.checks import CheckMessage, Tags, register


class Admin(apps.SimpleAdminConfig):
    """The admin, without a search through all apps whenever Django starts."""

    def ready(self) -> None:
        register(checks.check_dependencies, Tags.admin)
        register(_check, Tags.admin)


def _check(**options: Any) -> list[CheckMessage]:
    """What Django checks of the admin, which has to be found before."""
    autodiscover()
    return checks.check_admin_app(**options)
