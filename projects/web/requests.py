"""The request that a view gets after a check that Django's own type does not show."""

from django.contrib.auth.models import User
from django.http import HttpRequest


class MemberRequest(HttpRequest):
    """A request behind ``login_required``."""

    user: User
