"""Throttle failed logins by user name and by IP address: each failure makes the next attempt wait longer."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import BoundedSemaphore
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from projects.models import AttemptCounter

#: Failures that cause no wait; more for an IP address, because many people may share it.
FREE_ATTEMPTS = {"name": 5, "address": 50}
MAX_WAIT, REMEMBERED_FOR = timedelta(minutes=15), timedelta(days=1)
#: Limit of passwords that one process hashes concurrently: more would leave no processor for other requests.
MAX_HASHES_AT_ONCE, MAX_HASH_WAIT_SECONDS = 4, 10
_hashing = BoundedSemaphore(MAX_HASHES_AT_ONCE)


def wait(keys: dict[str, str], now: datetime) -> timedelta:
    """The time until the next attempt: 1, 2, 4, 8 … minutes after the free failures, at most ``MAX_WAIT``."""
    until = [now]
    for kind, key in keys.items():
        row = AttemptCounter.objects.filter(key=key, last__gt=now - REMEMBERED_FOR).first()
        over = row.count - FREE_ATTEMPTS[kind] + 1 if row else 0
        if row and over > 0:
            until.append(row.last + min(MAX_WAIT, timedelta(minutes=2 ** min(over - 1, 10))))
    return max(until) - now


def count_attempt(keys: dict[str, str], now: datetime) -> timedelta:
    """Count an attempt as a failure before its password is checked; during a wait, only return the rest of the wait.

    The rows are locked, so that concurrent attempts get no more password checks than consecutive ones.
    """
    AttemptCounter.objects.filter(last__lte=now - REMEMBERED_FOR).delete()
    with transaction.atomic():
        AttemptCounter.objects.lock(keys.values(), now)
        pause = wait(keys, now)
        if not pause:
            AttemptCounter.objects.add(keys.values(), now)
    return pause


@contextmanager
def counted(keys: dict[str, str]) -> Iterator[None]:
    """Count the check of a password in this block as a failure, unless it ends without an exception.

    Raises :class:`ValidationError` during a wait, and if too many passwords are being checked.
    """
    if not _hashing.acquire(timeout=MAX_HASH_WAIT_SECONDS):
        raise ValidationError(_("Too many logins at once. Try again later."))
    try:
        if pause := count_attempt(keys, timezone.now()):
            raise ValidationError(
                _("Too many failed logins. Try again in %(seconds)d seconds.")
                % {"seconds": round(pause.total_seconds())}
            )
        yield
    finally:
        _hashing.release()
    if address := keys.get("address"):
        AttemptCounter.objects.subtract(address)
    AttemptCounter.objects.filter(key=keys["name"]).delete()


def confirm_password(user: AbstractBaseUser, password: str) -> None:
    """Raise :class:`ValidationError` unless it is the password of this user, who is signed in; counts like a login."""
    with counted(AttemptCounter.keys(name=user.get_username())):
        if not user.check_password(password):
            raise ValidationError(_("This is not your password."))


class PasswordForm(PasswordChangeForm):
    """Changes the password of a user who is signed in; guesses at the old one are counted."""

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        confirm_password(self.user, password)
        return password


class LoginForm(AuthenticationForm):
    """A login form that counts failures, and refuses even the right password during a wait."""

    def clean(self) -> Any:
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        keys = AttemptCounter.keys(name=str(self.cleaned_data.get("username", "")), address=address)
        with counted(keys):
            return super().clean()
