"""Wrong logins make the next one wait, longer each time: by the name that is tried, and by where from."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from projects.models import LoginFailures

#: So many wrong ones are free. Of an address more, because many people may share it.
FREE = {"name": 5, "address": 50}
LONGEST, FORGOTTEN = timedelta(minutes=15), timedelta(days=1)


def wait(keys: dict[str, str], now: datetime) -> timedelta:
    """How long these must wait: a minute, 2, 4, 8 … after the free ones."""
    until = [now]
    for kind, key in keys.items():
        row = LoginFailures.objects.filter(key=key, last__gt=now - FORGOTTEN).first()
        over = row.count - FREE[kind] + 1 if row else 0
        if row and over > 0:
            until.append(row.last + min(LONGEST, timedelta(minutes=2 ** min(over - 1, 10))))
    return max(until) - now


class Slowed:
    """For a login form: counts what is wrong, and refuses while it must wait, whatever is typed."""

    def clean(self: Any) -> Any:
        """One line says how long."""
        now = timezone.now()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        keys = LoginFailures.keys(name=str(self.cleaned_data.get("username", "")), address=address)
        if pause := wait(keys, now):
            raise ValidationError(
                _("Too many wrong logins. Try again in %(seconds)d seconds.")
                % {"seconds": round(pause.total_seconds())}
            )
        try:
            cleaned = super().clean()  # type: ignore[misc]
        except ValidationError:
            LoginFailures.objects.note(keys.values(), now, forgotten=FORGOTTEN)
            raise
        LoginFailures.objects.filter(key=keys["name"]).delete()
        return cleaned


class LoginForm(Slowed, AuthenticationForm):
    """Of the chat pages."""


class AdminLoginForm(Slowed, AdminAuthenticationForm):
    """Of the admin."""
