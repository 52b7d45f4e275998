"""Audit logs: append-only hash chains of events.

The seal of each event covers the previous seal, so later changes are detected. Seals are HMACs with a key derived from
SECRET_KEY, so write access to the database is not enough to rewrite a log.
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
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memorybank.conf import secret_keys
from memorybank.exceptions import AppendOnly

from .bank import Bank
from .public_id import public_id


def seal_of(*values: Any, key: str | None = None) -> str:
    """The HMAC of these values, with a key derived from the secret key ``key`` (default: the current one)."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    # SECRET_KEY also signs other things, so each use derives a separate key.
    derived = sha256(f"memorybank.audit\0{settings.SECRET_KEY if key is None else key}".encode()).digest()
    return hmac.new(derived, text.encode(), sha256).hexdigest()


def _is_sealed(seal: str, values: tuple[Any, ...]) -> bool:
    """Whether the seal was made of these values with the current secret key, or an earlier one."""
    return any(hmac.compare_digest(seal, seal_of(*values, key=key)) for key in secret_keys())


class HashChainedQuerySet(models.QuerySet["Any"]):
    """Events of audit logs. They are deleted only with the bank or tenant that they belong to, by foreign key."""

    def update(self, *_: Any, **__: Any) -> NoReturn:
        raise AppendOnly("Events of an audit log cannot be changed.")

    def delete(self) -> NoReturn:
        raise AppendOnly("Events of an audit log cannot be deleted.")

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Event.objects.delete()
    bulk_update = bulk_create = update

    def verify(self, log: HashChain | None) -> Iterator[tuple[str, str]]:
        """Yield (position, problem) for each missing or changed event of one owner. Reads all its events."""
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
    """A value of an event's detail as text: lists separated by commas, dictionaries as names and values."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_as_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_as_words, value)) or "–"
    return "–" if value in (None, "") else str(value)


class HashChainedEvent(models.Model):
    """An event of an audit log: who did what, when. ``owner`` names the foreign key to the log's bank or tenant."""

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
        """The detail as readable text."""
        # PostgreSQL does not keep the order of keys; in reverse alphabetical order, "before" precedes "after".
        named = sorted(self.detail.items(), reverse=True)
        return " · ".join(f"{name.replace('_', ' ')}: {_as_words(value)}" for name, value in named) or "–"

    what.short_description = gettext_lazy("detail")  # type: ignore[attr-defined]  # Django's admin reads it

    def sealed_values(self, before: str) -> tuple[Any, ...]:
        """The values that its seal covers; ``before`` is the seal of the previous event, "" for the first one."""
        timestamp = self.at.astimezone(UTC).isoformat()
        return before, getattr(self, f"{self.owner}_id"), self.number, self.actor, self.action, self.detail, timestamp


class HashChain(models.Model):
    """The end of an audit log. Appending locks this row, so append after all other locks of the transaction."""

    length = models.PositiveBigIntegerField(default=0)
    seal = models.CharField(max_length=64, blank=True)
    end_seal = models.CharField(
        max_length=64, blank=True, help_text="HMAC of length and seal: without the key no log can be cut short."
    )

    class Meta:
        abstract = True

    def end_values(self) -> tuple[Any, ...]:
        """The values that ``end_seal`` covers."""
        return "end", self.pk, self.length, self.seal

    @property
    def end(self) -> dict[str, Any]:
        """Number of events and last seal; a copy kept elsewhere can show whether the whole log was rewritten."""
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


#: The actions in words.
ACTION_TEXTS = {
    "enable": pgettext_lazy("somebody", "switched memory on"),
    "disable": pgettext_lazy("somebody", "switched memory off"),
    "configure": pgettext_lazy("somebody", "changed settings"),
    "pin": pgettext_lazy("somebody", "pinned a line"),
    "unpin": pgettext_lazy("somebody", "unpinned a line"),
    "add": pgettext_lazy("somebody", "added a line by hand"),
    "edit": pgettext_lazy("somebody", "corrected a line"),
    "hide": pgettext_lazy("somebody", "hid a line"),
    "show": pgettext_lazy("somebody", "showed a hidden line again"),
    "release": pgettext_lazy("somebody", "approved a line for everybody"),
    "keep": pgettext_lazy("somebody", "left a line to its author"),
    "erase": pgettext_lazy("somebody", "deleted expired data"),
    "export": pgettext_lazy("somebody", "exported everything"),
    "read": pgettext_lazy("somebody", "read the messages of a line"),
    "retry": pgettext_lazy("somebody", "had parked chats tried again"),
    "private": pgettext_lazy("somebody", "made a chat private"),
    "public": pgettext_lazy("somebody", "shared a chat again"),
    "summarise": pgettext_lazy("somebody", "had chats summarised at once"),
    "compress": pgettext_lazy("somebody", "had older memory summarised"),
    "rebuild": pgettext_lazy("somebody", "rebuilt memory"),
    "ask": pgettext_lazy("somebody", "asked to have something forgotten"),
    "restore": pgettext_lazy("somebody", "withdrew a request to forget"),
    "object": pgettext_lazy("somebody", "said that a line is wrong"),
    "uphold": pgettext_lazy("somebody", "left a line as it is that somebody reported as wrong"),
    "opt_out": pgettext_lazy("somebody", "excluded somebody from memory"),
    "opt_in": pgettext_lazy("somebody", "included somebody again"),
}
#: The same for erasures, by the kind of the receipt.
ERASURE_WORDS = {
    "chat": pgettext_lazy("somebody", "erased a chat"),
    "author": pgettext_lazy("somebody", "erased what somebody had said"),
    "output": pgettext_lazy("somebody", "erased a message"),
    "line": pgettext_lazy("somebody", "erased a line, with its messages"),
    "everything": pgettext_lazy("somebody", "erased everything"),
}


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
        OBJECT = "object", "Say that a line is wrong"
        UPHOLD = "uphold", "Leave a line as it is"
        OPT_OUT = "opt_out", "Opt out"
        OPT_IN = "opt_in", "Opt in"

    owner = "bank"
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="events")
    action = models.CharField(max_length=20, choices=Action)

    class Meta(HashChainedEvent.Meta):
        constraints = [
            # Prevents two concurrent events from getting the same position. The index reads a log in order.
            models.UniqueConstraint(name="event_place_unique", fields=["bank", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} bank {public_id(self.bank_id)}"

    def words(self) -> str:
        """The actor's action in words, such as “pinned”."""
        said = ERASURE_WORDS.get(self.detail.get("kind", "")) or ACTION_TEXTS.get(self.action)
        words = str(said or self.get_action_display().lower())
        if self.detail.get("undone"):
            is_edit = self.action == self.Action.EDIT
            words = gettext("restored the original words") if is_edit else gettext("took back the approval of a line")
        if (number := len(self.detail["facts"]) if isinstance(self.detail.get("facts"), list) else 1) > 1:
            words = gettext("%(words)s (%(number)s lines)") % {"words": words, "number": number}
        if self.action == self.Action.RELEASE and "reason" in self.detail:
            words = gettext("%(words)s (it %(reason)s)") % {"words": words, "reason": gettext(self.detail["reason"])}
        if self.detail.get("taken_in"):
            words = gettext("%(words)s, with what was said before") % {"words": words}
        return words
