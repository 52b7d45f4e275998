"""Audit logs: append-only events, each sealed together with the one before, so that a later change is detected.

Seals are keyed (HMAC), with a key derived from SECRET_KEY: who can write to the database alone cannot rewrite a log.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from datetime import UTC
from hashlib import sha256
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.utils.translation import gettext_lazy

from memorybank.exceptions import AppendOnly

from .bank import Bank
from .public_id import public_id


def seal_of(*values: Any, key: str | None = None) -> str:
    """The seal of these values with this secret key, by default the current one."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    # SECRET_KEY also signs other things, so each use derives a separate key.
    derived = sha256(f"memorybank.audit\0{settings.SECRET_KEY if key is None else key}".encode()).digest()
    return hmac.new(derived, text.encode(), sha256).hexdigest()


def _is_sealed(seal: str, values: tuple[Any, ...]) -> bool:
    """Whether the seal was made of these values with the current secret key, or an earlier one."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(hmac.compare_digest(seal, seal_of(*values, key=key)) for key in keys)


class HashChainedQuerySet(models.QuerySet["Any"]):
    """Events of audit logs. They are deleted only with the bank or tenant that they belong to, by foreign key."""

    def update(self, *_: Any, **__: Any) -> NoReturn:
        raise AppendOnly("Events of an audit log cannot be changed.")

    def delete(self) -> NoReturn:
        raise AppendOnly("Events of an audit log cannot be deleted.")

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Event.objects.delete()
    bulk_update = bulk_create = update

    def verify(self, log: HashChain | None) -> Iterator[tuple[str, str]]:
        """Find missing and changed events of one owner: where, and what is wrong. Reads all of them."""
        number, seal = 0, ""
        for row in self.order_by("number").iterator():
            if row.number != number + 1:
                yield f"number {number + 1}", f"{row.number - number - 1} events are missing before number {row.number}"
            elif not _is_sealed(row.seal, row.sealed_values(seal)):
                yield f"number {row.number}", "was changed, or the one before it"
            number, seal = row.number, row.seal
        end = (log.length, log.seal) if log else (0, "")
        if (number, seal) != end:
            yield "its end", f"{end[0]} events were written, and it ends at number {number}"
        elif log and not _is_sealed(log.end_seal, log.end_values()):
            yield "its end", f"was changed: it may have had more events than {number}"


def _as_words(value: Any) -> str:
    """A value of an event's detail: lists with commas, settings with their names."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_as_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_as_words, value)) or "–"
    return "–" if value in (None, "") else str(value)


class HashChainedEvent(models.Model):
    """An event of an audit log: who did what, when. ``owner`` names the foreign key to what the log is about."""

    owner: ClassVar[str]

    number = models.PositiveBigIntegerField(editable=False, help_text="Its position in the audit log, from 1.")
    seal = models.CharField(max_length=64, editable=False, help_text="HMAC of the event and of the seal before.")
    actor = models.CharField(max_length=200)
    detail = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    at = models.DateTimeField()

    action: Any  # each log has its own choices
    objects: ClassVar[HashChainedQuerySet] = HashChainedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        abstract = True
        ordering = ["-pk"]

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnly("Events of an audit log cannot be changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("Events of an audit log cannot be deleted.")

    def what(self) -> str:
        """The detail as words, for people."""
        # PostgreSQL keeps no order of names; backwards, "before" precedes "after".
        named = sorted(self.detail.items(), reverse=True)
        return " · ".join(f"{name.replace('_', ' ')}: {_as_words(value)}" for name, value in named) or "–"

    what.short_description = gettext_lazy("detail")  # type: ignore[attr-defined]  # Django's admin reads it

    def sealed_values(self, before: str) -> tuple[Any, ...]:
        """What is sealed after an event with the seal ``before``; "" for the first event."""
        at = self.at.astimezone(UTC).isoformat()
        return before, getattr(self, f"{self.owner}_id"), self.number, self.actor, self.action, self.detail, at


class HashChain(models.Model):
    """The end of an audit log. Appending locks this row, after all other rows that the transaction locks."""

    length = models.PositiveBigIntegerField(default=0)
    seal = models.CharField(max_length=64, blank=True)
    end_seal = models.CharField(
        max_length=64, blank=True, help_text="HMAC of length and seal: without the key no log can be cut short."
    )

    class Meta:
        abstract = True

    def end_values(self) -> tuple[Any, ...]:
        """What its end is sealed over."""
        return "end", self.pk, self.length, self.seal

    @property
    def end(self) -> dict[str, Any]:
        """How many events it has and the last seal: kept elsewhere, it shows whether the whole log was rewritten."""
        return {"events": self.length, "seal": self.seal}

    @classmethod
    def append(cls, event: HashChainedEvent) -> None:
        """Append ``event`` to the log of its owner, one event at a time. Three short queries."""
        event.actor, event.detail = event.actor[:200], json.loads(json.dumps(event.detail, cls=DjangoJSONEncoder))
        with transaction.atomic():
            owner = {event.owner: getattr(event, event.owner)}
            log, _ = cls._default_manager.select_for_update().get_or_create(**owner)
            event.number = log.length + 1
            event.seal = seal_of(*event.sealed_values(log.seal))
            event.save(force_insert=True)
            log.length, log.seal = event.number, event.seal
            log.end_seal = seal_of(*log.end_values())
            log.save(update_fields=["length", "seal", "end_seal"])


class AuditLog(HashChain):
    """The end of a bank's audit log."""

    bank = models.OneToOneField(Bank, models.CASCADE, primary_key=True, related_name="audit_log")

    def __str__(self) -> str:
        return f"audit log of bank {self.bank_id}"


class Event(HashChainedEvent):
    """An event of a bank's audit log. It never contains chat text."""

    class Action(models.TextChoices):
        ENABLE = "enable"
        DISABLE = "disable"
        CONFIGURE = "configure"
        PIN = "pin"
        UNPIN = "unpin"
        ADD = "add"
        EDIT = "edit"
        HIDE = "hide"
        SHOW = "show"
        RELEASE = "release"
        KEEP = "keep", "Keep back"
        ERASE = "erase"
        EXPORT = "export"
        READ = "read"
        RETRY = "retry"
        SUMMARISE = "summarise"
        COMPRESS = "compress"
        REBUILD = "rebuild"
        PRIVATE = "private"
        PUBLIC = "public"
        ASK = "ask", "Ask to forget"
        RESTORE = "restore"
        OPT_OUT = "opt_out", "Opt out"
        OPT_IN = "opt_in", "Opt in"

    owner = "bank"
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="events")
    action = models.CharField(max_length=20, choices=Action)

    class Meta(HashChainedEvent.Meta):
        constraints = [
            # Two concurrent events do not get one position; its index reads a log in order.
            models.UniqueConstraint(name="event_place_unique", fields=["bank", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} bank {public_id(self.bank_id)}"
