"""Authenticate requests by API key, check scope and rate limit, and choose the author names that a key records."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from memorybank import services
from projects.models import APIKey, Scope

from .rate_limit import shares

MAX_AUTHOR_CHARACTERS = 200


class Refused(Exception):
    """The request is refused. ``status`` is the HTTP status; the message is for the developer of the client."""

    status = 401


class Unauthenticated(Refused):
    """No key, or an unknown, expired or revoked key. The message is the same, so that nobody learns which."""

    def __init__(self) -> None:
        super().__init__("A valid API key is required, as “Authorization: Bearer mb_…” or “x-api-key: mb_…”.")


class ScopeMissing(Refused):
    status = 403

    def __init__(self, scope: Scope) -> None:
        super().__init__(f"The key lacks the required scope “{scope.value}”.")


class RateLimited(Refused):
    """The key has used up its requests of this minute; ``retry_after`` is in seconds."""

    status = 429

    def __init__(self, limit: int, now: datetime) -> None:
        self.retry_after = 60 - now.second
        super().__init__(f"Rate limit exceeded: {limit:,} requests a minute. Try again in {self.retry_after} seconds.")


def key_header(headers: Mapping[str, str]) -> str:
    """The header with the key: ``Authorization``, or ``x-api-key`` as Anthropic's clients send it; "" if none."""
    return headers.get("Authorization") or headers.get("x-api-key") or ""


def digest_of(header: str) -> str:
    """The stored digest of the key in the value of a header, ``Bearer mb_…`` or ``mb_…``."""
    kind, _, rest = header.strip().partition(" ")
    return APIKey.hashed(rest.strip() if kind.lower() == "bearer" else header.strip())


def authenticate(header: str, scope: Scope, *, now: datetime | None = None) -> APIKey:
    """Return the key in a header's value (``Bearer mb_…`` or ``mb_…``), and enter its project's bank and tenant.

    The key is loaded with project, bank and tenant. The project comes from the key alone, so no key reaches another
    project. One indexed read; at most a few writes a minute. Raises :class:`Refused`.
    """
    now = now or timezone.now()
    key = find(digest_of(header), now)
    if key is None:
        raise Unauthenticated
    if not shares.grant(key, settings.API_REQUESTS_PER_MINUTE, now):
        raise RateLimited(settings.API_REQUESTS_PER_MINUTE, now)
    require_scope(key, scope)
    services.enter(key.project.bank_id, owners=[key.project.tenant_id])
    return key


def find(digest: str, now: datetime) -> APIKey | None:
    """The valid key with this digest, with its project, bank and tenant."""
    # The lookup time reveals nothing about a key: nobody can choose its digest.
    keys = APIKey.objects.valid(now).select_related("project__bank", "project__tenant")
    with services.all_banks_entered():
        key = keys.filter(digest=digest).first()
    return key if key and hmac.compare_digest(key.digest, digest) else None


def require_scope(key: APIKey, scope: Scope) -> None:
    """Raise :class:`ScopeMissing` unless the key opens the scope."""
    if not key.opens(scope):
        raise ScopeMissing(scope)


def author_of(key: APIKey, names: Collection[str]) -> dict[str, str]:
    """Map each name to the author that the key records.

    Without the scope ``people``, a name that reads like a member's becomes “priya, via KEY”.
    """
    if key.opens(Scope.PEOPLE):
        return {name: name for name in names}
    members = User.objects.filter(memberships__tenant=key.project.tenant_id)
    taken: set[str] = set()
    for user in members:
        addresses = (user.username, user.email)
        shown = (*addresses, user.get_full_name(), *(address.partition("@")[0] for address in addresses))
        taken |= {_comparable(name) for name in shown}
    taken.discard("")
    ours = f"{services.VIA}{key.name}"
    room = MAX_AUTHOR_CHARACTERS - len(ours)
    return {name: f"{name[:room]}{ours}" if _comparable(name) in taken else name for name in names}


def _comparable(name: str) -> str:
    """Normalise a name: Unicode form (NFKC), case and white space."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
