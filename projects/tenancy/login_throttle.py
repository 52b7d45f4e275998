"""Throttle failed logins by user name and by address: each failure makes the next attempt wait longer."""

from datetime import datetime, timedelta
from threading import BoundedSemaphore
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from projects.models import LoginFailures

#: Failures without a wait. More for an address, because many people may share it.
FREE_ATTEMPTS = {"name": 5, "address": 50}
MAX_WAIT, REMEMBERED_FOR = timedelta(minutes=15), timedelta(days=1)
#: The passwords that one process hashes at once: more would take the processors from everybody.
MAX_HASHES_AT_ONCE, MAX_HASH_WAIT_SECONDS = 4, 10
_hashing = BoundedSemaphore(MAX_HASHES_AT_ONCE)


def wait(keys: dict[str, str], now: datetime) -> timedelta:
    """The time until the next attempt: 1, 2, 4, 8 … minutes after the free failures."""
    until = [now]
    for kind, key in keys.items():
        row = LoginFailures.objects.filter(key=key, last__gt=now - REMEMBERED_FOR).first()
        over = row.count - FREE_ATTEMPTS[kind] + 1 if row else 0
        if row and over > 0:
            until.append(row.last + min(MAX_WAIT, timedelta(minutes=2 ** min(over - 1, 10))))
    return max(until) - now


def count_attempt(keys: dict[str, str], now: datetime) -> timedelta:
    """Count an attempt as a failure before its password is checked; during a wait, only return the rest of the wait.

    The rows are locked, so of attempts at once no more are checked than of as many in a row.
    """
    LoginFailures.objects.filter(last__lte=now - REMEMBERED_FOR).delete()
    with transaction.atomic():
        LoginFailures.objects.lock(keys.values(), now)
        pause = wait(keys, now)
        if not pause:
            LoginFailures.objects.add(keys.values(), now)
    return pause


class LoginForm(AuthenticationForm):
    """A login form that counts failures, and refuses even the right password during a wait."""

    def clean(self) -> Any:
        now = timezone.now()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        keys = LoginFailures.keys(name=str(self.cleaned_data.get("username", "")), address=address)
        if not _hashing.acquire(timeout=MAX_HASH_WAIT_SECONDS):
            raise ValidationError(_("Too many logins at once. Try again later."))
        try:
            if pause := count_attempt(keys, now):
                raise ValidationError(
                    _("Too many failed logins. Try again in %(seconds)d seconds.")
                    % {"seconds": round(pause.total_seconds())}
                )
            cleaned = super().clean()
        finally:
            _hashing.release()
        LoginFailures.objects.subtract(keys["address"])
        LoginFailures.objects.filter(key=keys["name"]).delete()
        return cleaned
