"""Show times on pages in the reader's time zone, which the browser tells in a cookie; without it, in the site's.

The pages of a project activate its own zone instead; ``request.time_zone`` stays the reader's, None if it is unknown.
"""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from .language import PROGRAM_PREFIXES

#: Set by the script zone.js.
COOKIE = "time_zone"
MAX_ZONE_CHARACTERS = 64


def time_zone_middleware(
    answer: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Activate the time zone. It stays active for the rest of a streamed response; every request sets it again."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        zone = None if request.path_info.startswith(PROGRAM_PREFIXES) else _zone(request.COOKIES.get(COOKIE, ""))
        request.time_zone = zone  # type: ignore[attr-defined]
        if zone:
            timezone.activate(zone)
        else:
            timezone.deactivate()
        return answer(request)

    return answered


def _zone(name: str) -> ZoneInfo | None:
    """The time zone with this name; None if there is none."""
    if not name or len(name) > MAX_ZONE_CHARACTERS:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no valid name, or a directory of zones
        return None
