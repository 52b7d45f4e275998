"""Audit trails: rows that are only ever added, each sealed over the one before it, so that a change is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC
from typing import Any, ClassVar, NoReturn

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction

from memorybank.exceptions import AppendOnly

from .bank import Bank
from .public_id import public_id


class SealedQuerySet(models.QuerySet["Any"]):
    """The rows of a trail: to be read and added to. What they are the trail of may go, and they with it."""

    def update(self, *_: Any, **__: Any) -> NoReturn:
        """Never."""
        raise AppendOnly("What is on an audit trail is not changed.")

    def delete(self) -> NoReturn:
        """Never."""
        raise AppendOnly("What is on an audit trail is not deleted.")

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Event.objects.delete()
    bulk_update = bulk_create = update

    def flaws(self, head: Head | None) -> Iterator[tuple[str, str]]:
        """Of one owner's rows, those that are missing or were changed: where, and what. Reads all of them."""
        number, seal = 0, ""
        for row in self.order_by("number").iterator():
            if row.number != number + 1:
                yield f"number {number + 1}", f"{row.number - number - 1} events are missing before number {row.number}"
            elif row.seal != row.sealed_over(seal):
                yield f"number {row.number}", "was changed, or the one before it"
            number, seal = row.number, row.seal
        end = (head.length, head.seal) if head else (0, "")
        if (number, seal) != end:
            yield "its end", f"{end[0]} events were written, and it ends at number {number}"


class Sealed(models.Model):
    """A row of a trail: who did what, when. Its concrete models name what it is the trail of in ``owner``."""

    owner: ClassVar[str]

    number = models.PositiveBigIntegerField(editable=False, help_text="Its place on the trail, from 1.")
    seal = models.CharField(max_length=64, editable=False, help_text="SHA-256 of what it says and of the seal before.")
    actor = models.CharField(max_length=200)
    detail = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    at = models.DateTimeField()

    action: Any  # a choice of its own for each trail
    objects: ClassVar[SealedQuerySet] = SealedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        abstract = True
        ordering = ["-pk"]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Once."""
        if not self._state.adding:
            raise AppendOnly("What is on an audit trail is not changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Never."""
        raise AppendOnly("What is on an audit trail is not deleted.")

    def sealed_over(self, before: str) -> str:
        """Its seal, if that of the row before it is ``before`` ("": it is the first)."""
        at = self.at.astimezone(UTC).isoformat()
        told = [before, getattr(self, f"{self.owner}_id"), self.number, self.actor, self.action, self.detail, at]
        plain = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(plain.encode()).hexdigest()


class Head(models.Model):
    """Where a trail ends. Whoever adds to it holds this row, last of all rows."""

    length = models.PositiveBigIntegerField(default=0)
    seal = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True

    @classmethod
    def append(cls, row: Sealed) -> None:
        """Add ``row`` to the trail of its owner: three short queries, one after the other for one owner."""
        row.actor, row.detail = row.actor[:200], json.loads(json.dumps(row.detail, cls=DjangoJSONEncoder))
        with transaction.atomic():
            held, _ = cls._default_manager.select_for_update().get_or_create(**{row.owner: getattr(row, row.owner)})
            row.number = held.length + 1
            row.seal = row.sealed_over(held.seal)
            row.save(force_insert=True)
            held.length, held.seal = row.number, row.seal
            held.save(update_fields=["length", "seal"])


class Trail(Head):
    """Where the trail of a bank ends."""

    bank = models.OneToOneField(Bank, models.CASCADE, primary_key=True, related_name="trail")

    def __str__(self) -> str:
        return f"trail of bank {self.bank_id}"


class Event(Sealed):
    """Who did what to which bank. Append-only, and never a word of chat text."""

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

    class Meta(Sealed.Meta):
        constraints = [
            # Two who write at once do not write at one place; its index reads a trail in its order.
            models.UniqueConstraint(name="event_place_unique", fields=["bank", "number"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} bank {public_id(self.bank_id)}"
