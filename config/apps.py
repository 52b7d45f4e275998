"""Load the admin modules together with the site's URLs, not at startup, so that commands start faster."""

from typing import Any

from django.contrib.admin import apps, autodiscover, checks
from django.core.checks import CheckMessage, Tags, register


class Admin(apps.SimpleAdminConfig):
    """The admin app without autodiscovery at startup."""

    default_site = "config.admin_site.MemoryAdminSite"

    def ready(self) -> None:
        register(checks.check_dependencies, Tags.admin)
        register(_check, Tags.admin)


def _check(**options: Any) -> list[CheckMessage]:
    """Run autodiscovery, which Django's admin checks need, then the checks."""
    autodiscover()
    return checks.check_admin_app(**options)
