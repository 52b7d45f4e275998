"""Request types for views behind a login check."""

from django.contrib.auth.models import User
from django.http import HttpRequest


class MemberRequest(HttpRequest):
    """A request behind ``login_required``."""

    user: User
