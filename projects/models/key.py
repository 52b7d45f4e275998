"""API keys: each opens one project, for its scopes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from .project import Project

#: Maximum length of a key's name, which audit logs show.
MAX_KEY_NAME_CHARACTERS = 100


class Scope(models.TextChoices):
    """A kind of request that a key may make. No scope includes another: a key with WRITE need not have READ."""

    READ = "read", _("read: chats, summaries, memory, usage")
    WRITE = "write", _("write: record, rename, summarise and compact chats")
    ADMIN = "admin", _("admin: edit and delete memory, change settings")
    PEOPLE = "people", _("people: record messages on behalf of members")


class NameSource(models.TextChoices):
    """Parts of a request that may name the speaker. A key trusts only some: clients can write anything there."""

    MEMORY = "memory", _("memory: the X-Memory-User header")
    FRONT_END = "front_end", _("front_end: headers of a front end with several users (Open WebUI)")
    BODY = "body", _("body: user, safety_identifier, metadata.user_id")
    MESSAGE = "message", _("message: the name field of a message")


#: The header that names the member for whom a program asks, or whose words it records.
PERSON_HEADER = "X-Memory-User"
#: The sources that a key trusts by default.
DEFAULT_NAME_SOURCES = (NameSource.MEMORY, NameSource.FRONT_END, NameSource.BODY)


class APIKeyQuerySet(models.QuerySet["APIKey"]):
    def valid(self, now: datetime) -> APIKeyQuerySet:
        """Keys that are neither revoked nor expired."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)

    def revoke(self, now: datetime) -> int:
        """Revoke these keys; returns how many were not revoked before."""
        return self.filter(revoked_at=None).update(revoked_at=now)

    def take(self, pk: int, requests: int, *, limit: int, now: datetime) -> bool:
        """Reserve ``requests`` of this minute's ``limit``; False if fewer are left.

        This is the only write when a key is used, and one call can reserve several requests.
        """
        minute = now.replace(second=0, microsecond=0)
        key = self.filter(pk=pk)
        new_minute = Q(last_used_at=None) | Q(last_used_at__lt=minute)
        if key.filter(new_minute).update(last_used_at=now, taken=requests):
            return True
        return bool(key.filter(taken__lte=limit - requests).update(taken=F("taken") + requests))


class APIKey(models.Model):
    """A key of one project. Only its hash is stored; the key is shown once."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField("what it opens", default=list)
    name_sources = models.CharField(
        max_length=100, blank=True, default=",".join(DEFAULT_NAME_SOURCES), help_text="Separated by commas."
    )
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
        """The actor in audit logs and of edited facts. No user has such a name."""
        return f"API key {self.name}"[:200]

    @property
    def program(self) -> str:
        """Identifies the key as the program that began a chat; no other key ever has the same."""
        return f"key {self.pk}"

    def trusts(self, source: NameSource) -> bool:
        """Whether the key accepts a person's name from this part of a request."""
        return source.value in self.name_sources.split(",")

    @property
    def scope_names(self) -> list[str]:
        """The short names of its scopes, as pages show them."""
        return [str(Scope(scope).label).partition(":")[0] for scope in self.scopes]

    def opens(self, scope: Scope) -> bool:
        return scope.value in self.scopes

    @staticmethod
    def hashed(key: str) -> str:
        """The stored hash of a key: SHA-256 suffices, because keys are random."""
        return hashlib.sha256(key.encode(errors="replace")).hexdigest()

    @classmethod
    def issue(
        cls,
        project: Project,
        name: str,
        scopes: Iterable[Scope],
        expires_at: datetime | None = None,
        name_sources: Iterable[NameSource] = DEFAULT_NAME_SOURCES,
    ) -> tuple[APIKey, str]:
        """Create a key; return it and its secret, which is not stored."""
        key = f"mb_{secrets.token_urlsafe(32)}"
        wanted = set(scopes)
        ordered = [scope.value for scope in Scope if scope in wanted]
        values: dict[str, Any] = {
            "prefix": key[:12],
            "digest": cls.hashed(key),
            "scopes": ordered,
            "expires_at": expires_at,
        }
        trusted = set(name_sources)
        values["name_sources"] = ",".join(source for source in NameSource if source in trusted)
        return cls.objects.create(project=project, name=name, **values), key
