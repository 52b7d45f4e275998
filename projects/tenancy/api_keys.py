"""The door of programs: what a key opens, to whom it is refused and why; keys made and revoked, on the trail."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from threading import Lock

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memorybank.exceptions import InvalidInput
from projects.models import APIKey, Project, Scope
from projects.models.key import MAX_NAME

from . import audit

MAX_DAYS = 3_650
#: A limit that nobody reaches within a minute.
UNLIMITED = 10**9


class Refused(Exception):
    """A key does not open this. ``status`` is HTTP's, the message is for whoever wrote the program."""

    status = 401


class Unauthenticated(Refused):
    """No key, or one that is unknown, expired or revoked: the same words, so that nobody learns which."""

    def __init__(self) -> None:
        super().__init__(
            "This needs a valid API key of a project, as “Authorization: Bearer mb_…” or “x-api-key: mb_…”."
        )


class ScopeMissing(Refused):
    """A valid key, but not for this."""

    status = 403

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"This needs a key with the scope “{scope.value}”.")


class TooMany(Refused):
    """The key has had its requests of this minute; ``retry_after`` is in seconds."""

    status = 429

    def __init__(self, limit: int, now: datetime) -> None:
        self.retry_after = 60 - now.second
        super().__init__(f"A key has {limit:,} requests a minute. Try again in {self.retry_after} seconds.")


def presented(headers: Mapping[str, str]) -> str:
    """The header that holds a key: ``Authorization``, or ``x-api-key`` as clients of Anthropic send it; "" if none."""
    return headers.get("Authorization") or headers.get("x-api-key") or ""


def authenticated(header: str, scope: Scope, *, now: datetime | None = None) -> APIKey:
    """The key in the value of a header, ``Bearer mb_…`` or ``mb_…``, with its project, bank and tenant.

    The project comes from the key alone, so a key never reaches another's. One indexed read; at most a few writes a
    minute. Raises :class:`Refused`. Blocks on the database: async code awaits :func:`aauthenticated`.
    """
    now = now or timezone.now()
    kind, _, rest = header.strip().partition(" ")
    digest = APIKey.hashed(rest.strip() if kind.lower() == "bearer" else header.strip())
    # Found by a digest that nobody can aim at: how long the index takes says nothing of the key.
    key = APIKey.objects.valid(now).select_related("project__bank", "project__tenant").filter(digest=digest).first()
    if key is None or not hmac.compare_digest(key.digest, digest):
        raise Unauthenticated
    if not _shares.grant(key, settings.API_REQUESTS_PER_MINUTE, now):
        raise TooMany(settings.API_REQUESTS_PER_MINUTE, now)
    if not key.opens(scope):
        raise ScopeMissing(scope)
    return key


aauthenticated = sync_to_async(authenticated)


class _Shares:
    """What this process has taken of each key's minute and not used yet.

    The database counts, for all processes together, and is written once for many requests. So no key ever has more
    than its limit in a minute, and one that several processes serve may be stopped a few shares earlier.
    """

    PARTS = 20  # shares that make a minute's limit

    def __init__(self) -> None:
        self._left: dict[str, tuple[datetime, int]] = {}
        self._lock = Lock()

    def grant(self, key: APIKey, limit: int, now: datetime) -> bool:
        """Whether the key may ask once more in this minute; a limit of 0 is none."""
        limit = limit or UNLIMITED
        minute, share = now.replace(second=0, microsecond=0), max(1, limit // self.PARTS)
        if self._use(key.digest, minute, 0):
            return True
        return APIKey.objects.take(key.pk, share, of=limit, now=now) and self._use(key.digest, minute, share)

    def _use(self, digest: str, minute: datetime, more: int) -> bool:
        with self._lock:
            when, left = self._left.get(digest, (minute, 0))
            left = more + (left if when == minute else 0)
            if more:  # now and then, what is over goes
                self._left = {each: kept for each, kept in self._left.items() if kept[0] == minute}
            self._left[digest] = minute, max(0, left - 1)
            return left > 0


_shares = _Shares()


def issue(
    project: Project, name: str, scopes: Iterable[str], *, actor: str, days: int | None = None, now: datetime
) -> tuple[APIKey, str]:
    """A new key to ``project`` and its only showing; on the tenant's trail, by its first characters.

    It expires after ``days``, or never. Raises :class:`InvalidInput`, naming the field and the limit.
    """
    name, wanted = name.strip(), list(scopes)
    check(name, wanted, days)
    until = None if days is None else now + timedelta(days=days)
    with transaction.atomic():
        key, shown = APIKey.issue(project, name, map(Scope, wanted), until)
        told = {"scopes": key.scopes, "expires_at": until}
        audit.log(project.tenant, actor, audit.Action.ISSUE, now, **_named(key), **told)
    return key, shown


def check(name: str, scopes: Iterable[str], days: int | None) -> None:
    """Raise :class:`InvalidInput` for what no key can have."""
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise InvalidInput(f"name: one line of 1 to {MAX_NAME} characters.")
    if not (wanted := set(scopes)) or not wanted <= set(Scope.values):
        raise InvalidInput(f"scopes: one or more of {', '.join(Scope.values)}.")
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise InvalidInput(f"expires: 1 to {MAX_DAYS:,} days.")


def revoke(key: APIKey, *, actor: str, now: datetime) -> bool:
    """Let the key open nothing from now on; False if it was revoked before."""
    with transaction.atomic():
        revoked = bool(APIKey.objects.filter(pk=key.pk).revoke(now))
        if revoked:
            audit.log(key.project.tenant, actor, audit.Action.REVOKE, now, **_named(key))
    return revoked


def _named(key: APIKey) -> dict[str, str]:
    return {"project": key.project.slug, "key": key.name, "prefix": key.prefix}
