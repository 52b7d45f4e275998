"""Request types for views behind a login check."""

from zoneinfo import ZoneInfo

from django.contrib.auth.models import User
from django.http import HttpRequest


class MemberRequest(HttpRequest):
    """A request behind ``login_required``. ``time_zone`` is the reader's, None if the browser has not told it."""

    user: User
    time_zone: ZoneInfo | None
