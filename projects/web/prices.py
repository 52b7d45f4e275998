"""The currency in which pages show costs; what a call costs is memorybank's."""

from django.conf import settings


def currency() -> str:
    """The site's currency; US dollars on a site that names none."""
    return getattr(settings, "CURRENCY", "USD")
