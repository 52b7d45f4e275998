"""The keys of programs: each a way into one project, for what its scopes name."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from .project import Project

#: The name of a key is shown beside what was done with it.
MAX_NAME = 100


class Scope(models.TextChoices):
    """What a key opens. None covers another: a key that records need not read."""

    READ = "read", _("read: chats, entries, facts, the block, recalled notes, usage")
    WRITE = "write", _("write: record, name, summarise and compact chats")
    ADMIN = "admin", _("admin: settle facts, forget, change settings")


class APIKeyQuerySet(models.QuerySet["APIKey"]):
    """Sets of keys."""

    def valid(self, now: datetime) -> APIKeyQuerySet:
        """Those that open something at ``now``: neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)

    def revoke(self, now: datetime) -> int:
        """These open nothing any more; how many did until now."""
        return self.filter(revoked_at=None).update(revoked_at=now)

    def take(self, pk: int, many: int, *, of: int, now: datetime) -> bool:
        """Whether ``many`` more requests of this minute's ``of`` go to the key, and then they are taken.

        The one place that writes when a key is used, and not once a request: who asks takes several.
        """
        minute = now.replace(second=0, microsecond=0)
        key = self.filter(pk=pk)
        begun = Q(last_used_at=None) | Q(last_used_at__lt=minute)
        if key.filter(begun).update(last_used_at=now, taken=many):
            return True
        return bool(key.filter(taken__lte=of - many).update(taken=F("taken") + many))


class APIKey(models.Model):
    """A program's way into one project. Only a hash is kept; the key is shown once."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, editable=False, help_text="Its first request in its last minute.")
    taken = models.PositiveIntegerField(default=0, editable=False, help_text="Requests taken of that minute's.")

    objects: ClassVar[APIKeyQuerySet] = APIKeyQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(name="api_key_hashed", condition=~Q(digest="")),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def actor(self) -> str:
        """Who did it, on audit trails and over what is put right: no user is called so."""
        return f"API key {self.name}"[:200]

    def opens(self, scope: Scope) -> bool:
        """Whether ``scope`` is one of its own."""
        return scope.value in self.scopes

    @staticmethod
    def hashed(key: str) -> str:
        """What is stored of a key: SHA-256 suffices, because keys are random, not chosen."""
        return hashlib.sha256(key.encode(errors="replace")).hexdigest()

    @classmethod
    def issue(
        cls, project: Project, name: str, scopes: Iterable[Scope], expires_at: datetime | None = None
    ) -> tuple[APIKey, str]:
        """A new key and its only showing."""
        key = f"mb_{secrets.token_urlsafe(32)}"
        asked = set(scopes)
        named = [scope.value for scope in Scope if scope in asked]
        given = {"prefix": key[:12], "digest": cls.hashed(key), "scopes": named, "expires_at": expires_at}
        return cls.objects.create(project=project, name=name, **given), key
