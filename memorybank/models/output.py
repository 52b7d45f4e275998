"""Outputs, the turns as they were recorded: the source of truth that memory is made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from .bank import Bank
from .chat import Chat
from .public_id import public_id

#: Places looked up in one query: the index is asked for each of their chats with each of their keys.
PLACES = 50


class OutputQuerySet(models.QuerySet["Output"]):
    """Sets of outputs."""

    def remembered(self) -> OutputQuerySet:
        """Outputs that were really given to somebody: pending, failed and blocked ones are not memory."""
        return self.filter(status=Output.Status.OK)

    def before_memory(self, bank: Bank) -> OutputQuerySet:
        """What was said while the memory of ``bank`` was off and is no part of it."""
        known = Q(left_out=True)
        if not bank.enabled:
            known |= Q(sequence__gt=F("chat__summarised_through")) & Q(sequence__gt=bank.off_after)
        return self.remembered().filter(known, chat__bank=bank)

    def unanswered(self) -> OutputQuerySet:
        """The others: what may be asked again."""
        return self.exclude(status=Output.Status.OK)

    def of_person(self, name: str) -> OutputQuerySet:
        """What somebody wrote, and what she is quoted with."""
        return self.filter(Q(author=name) | Q(said_by=name) | Q(answered_by=name))

    def with_words(self) -> OutputQuerySet:
        """Outputs that still say something."""
        return self.exclude(question="", answer="", messages=[])

    def with_keys(self, keys: Iterable[str]) -> OutputQuerySet:
        """Outputs with one of the outer app's ids; those without any are left out, as in the index."""
        return self.filter(key__in=keys).exclude(key="")

    def known(self, places: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Output]:
        """Those of these (chat id, key) that are recorded, among others of the same chats; with their status only."""
        places = sorted(places)
        known: dict[tuple[int, str], Output] = {}
        for start in range(0, len(places), PLACES):
            chats, keys = zip(*places[start : start + PLACES], strict=True)
            found = self.filter(chat__in=set(chats)).with_keys(set(keys)).order_by()
            known |= {(output.chat_id, output.key): output for output in found.only("chat", "key", "status")}
        return known


class Output(models.Model):
    """One inference: what was asked and what was answered. Once it is ok it is never changed, only erased.

    ``sequence`` is its place in the order of its bank's turns, drawn when it is recorded and drawn again when it
    becomes ok, both under the bank's lock. So every turn that becomes ok stands after all that were ok before;
    the watermark relies on it. The id never changes.
    """

    class Status(models.TextChoices):
        OK = "ok", "OK"
        ERROR = "error"
        BLOCKED = "blocked"
        CANCELLED = "cancelled"
        STOPPED = "stopped"
        PENDING = "pending"

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="outputs")
    sequence = models.PositiveBigIntegerField(
        editable=False, help_text="Its place in the order of its bank's turns; drawn again when it becomes ok."
    )
    key = models.CharField(max_length=200, blank=True, help_text="The outer app's id, for idempotence.")
    author = models.CharField(max_length=200)
    said_by = models.CharField(max_length=200, blank=True, help_text="Whom the author quotes, in a transcript.")
    answered_by = models.CharField(max_length=200, blank=True, help_text="Who spoke in the model's place there.")
    question = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    messages = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.OK)
    error = models.CharField(max_length=500, blank=True, help_text="Why there is no answer, in the model's words.")
    withheld = models.BooleanField(default=False, help_text="Its author asked to forget it; memory has no word of it.")
    left_out = models.BooleanField(
        default=False, help_text="It was said before memory was switched on, which took nothing in of then."
    )
    replaces = models.JSONField(
        default=list, blank=True, help_text="Ids of outputs of its chat whose place it takes when it is answered."
    )
    created_at = models.DateTimeField(help_text="When it was asked first.")
    asked_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last asked, while it is not ok: tells attempts apart."
    )

    objects: ClassVar[models.Manager[Output]] = models.Manager.from_queryset(OutputQuerySet)()

    class Meta:
        ordering = ["sequence"]
        constraints = [
            # The same import or request twice records once.
            models.UniqueConstraint(name="output_key_unique_in_chat", fields=["chat", "key"], condition=~Q(key="")),
            # Two turns in one place would hide one from the watermark; and its index gives a chat's turns in order.
            models.UniqueConstraint(name="output_sequence_unique_in_chat", fields=["chat", "sequence"]),
        ]

    def __str__(self) -> str:
        return f"output {public_id(self.pk)}"

    @property
    def has_words(self) -> bool:
        """Whether anything of what was said is left; the row of a turn that grew too old stays, to be cited."""
        return bool(self.question or self.answer or self.messages)

    def is_awaited(self, now: datetime, patience: timedelta) -> bool:
        """Whether somebody may still be answering it; what is pending for longer was given up in silence."""
        return self.status == self.Status.PENDING and self.asked_at is not None and now < self.asked_at + patience


def sequences_by_chat(outputs: Iterable[Output]) -> dict[int, dict[int, int]]:
    """The ids of these outputs with their sequences, by chat."""
    by_chat: dict[int, dict[int, int]] = defaultdict(dict)
    for output in outputs:
        by_chat[output.chat_id][output.pk] = output.sequence
    return dict(by_chat)
