"""Issue and revoke API keys, with the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction

from memorybank.exceptions import InvalidInput
from projects.models import APIKey, NameSource, Project, Scope
from projects.models.key import DEFAULT_NAME_SOURCES, MAX_KEY_NAME_CHARACTERS

from . import audit

MAX_KEY_DAYS = 3_650


def issue(
    project: Project,
    name: str,
    scopes: Iterable[str],
    *,
    actor: str,
    days: int | None = None,
    name_sources: Iterable[str] = DEFAULT_NAME_SOURCES,
    now: datetime,
) -> tuple[APIKey, str]:
    """Issue a key of ``project``; return it and its secret, which is not stored. Without ``days`` it never expires.

    ``name_sources`` are the parts of its requests that may name the speaker. Raises :class:`InvalidInput`, naming the
    field and the limit.
    """
    name, scopes = name.strip(), list(scopes)
    trusted = list(name_sources)
    check(name, scopes, days, trusted)
    until = None if days is None else now + timedelta(days=days)
    with transaction.atomic():
        key, secret = APIKey.issue(project, name, map(Scope, scopes), until, map(NameSource, trusted))
        detail = {**_described(key), "scopes": key.scopes, "expires_at": until, "name_sources": key.name_sources}
        audit.log(project.tenant, actor, audit.TenantAction.ISSUE, now, **detail)
    return key, secret


def check(name: str, scopes: Iterable[str], days: int | None, name_sources: Iterable[str] = ()) -> None:
    """Raise :class:`InvalidInput` for an invalid name, scope, number of days or source of names."""
    if not name or len(name) > MAX_KEY_NAME_CHARACTERS or not name.isprintable():
        raise InvalidInput(f"name: one line of 1 to {MAX_KEY_NAME_CHARACTERS} characters.")
    if not (wanted := set(scopes)) or not wanted <= set(Scope.values):
        raise InvalidInput(f"scopes: one or more of {', '.join(Scope.values)}.")
    if not set(name_sources) <= set(NameSource.values):
        raise InvalidInput(f"name_sources: any of {', '.join(NameSource.values)}.")
    if days is not None and not 1 <= days <= MAX_KEY_DAYS:
        raise InvalidInput(f"expires: 1 to {MAX_KEY_DAYS:,} days.")


def revoke(key: APIKey, *, actor: str, now: datetime) -> bool:
    """Revoke the key; False if it was revoked before."""
    with transaction.atomic():
        revoked = bool(APIKey.objects.filter(pk=key.pk).revoke(now))
        if revoked:
            audit.log(key.project.tenant, actor, audit.TenantAction.REVOKE, now, **_described(key))
    return revoked


def _described(key: APIKey) -> dict[str, str]:
    return {"project": key.project.slug, "key": key.name, "prefix": key.prefix}
