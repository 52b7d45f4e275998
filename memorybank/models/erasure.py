"""What was erased, who wants to be left out, and what somebody wants erased: rows that hold no word of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac

from .bank import Bank
from .chat import Chat
from .output import Output
from .public_id import public_id

#: What may be named: ("chat", its key), ("author", who), ("output", the key of its chat, its own), ("line", ids of
#: facts …), ("everything",).
Subject = tuple[str, ...]


class ErasureQuerySet(models.QuerySet["Erasure"]):
    """Sets of receipts."""

    def until(self, bank: Bank, subjects: Collection[Subject]) -> dict[Subject, datetime]:
        """Of each of these that was erased, up to when; what was said before that is not taken in again."""
        if not bank.epoch:  # nothing ever was
            return {}
        known = {Erasure.digest(bank, each): each for each in subjects}
        found = self.filter(bank=bank, subject__in=known).order_by("at").values_list("subject", "at")
        return {known[digest]: at for digest, at in found}


class Erasure(models.Model):
    """A receipt: how much was erased, when, by whom. What it was is known by a keyed hash alone."""

    class Kind(models.TextChoices):
        CHAT = "chat"
        AUTHOR = "author"
        OUTPUT = "output", "turn"
        LINE = "line"
        EVERYTHING = "everything"

    # Its index is the one below, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="erasures", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    subject = models.CharField(max_length=40, help_text="What was erased, as a keyed hash.")
    asked_by = models.CharField(max_length=200)
    epoch = models.PositiveIntegerField(help_text="Work begun before this epoch writes nothing.")
    counts = models.JSONField(help_text="How much went, and what is made anew; nothing: it went with a line.")
    at = models.DateTimeField()

    objects: ClassVar[ErasureQuerySet] = ErasureQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        indexes = [
            # Read by recording, in a bank where anything was erased: may this come in?
            models.Index(name="erasure_of_subject", fields=["bank", "subject"]),
        ]

    def __str__(self) -> str:
        return f"erasure {public_id(self.pk)}"

    @staticmethod
    def digest(bank: Bank, subject: Subject) -> str:
        """What a subject is known by; nobody without the site's key can try names, nor compare two banks."""
        said = "\x00".join((str(bank.pk), *subject))
        return salted_hmac("memorybank.erased", said, algorithm="sha256").hexdigest()[:40]


class OptOutQuerySet(models.QuerySet["OptOut"]):
    """Sets of people who are left out."""

    def tellable(self, bank: Bank, outputs: Iterable[Output], *, in_chat: bool = False) -> list[Output]:
        """Those of which memory may hold words: nobody is left out or took them back, and they are not too old.

        With ``in_chat`` for the chat itself, where it does not matter whether memory was on.
        """
        until = dict(self.filter(bank=bank).values_list("author", "until"))
        since = bank.remembers_since

        def may(output: Output) -> bool:
            people = [name for name in (output.author, output.said_by, output.answered_by) if name in until]
            out = any((end := until[name]) is None or output.created_at < end for name in people)
            off = output.left_out and not in_chat
            return not (out or off or output.withheld or (since and output.created_at < since))

        return [output for output in outputs if may(output)]


class OptOut(models.Model):
    """A person of whose words a bank makes no memory; after ``until``, only of what she said before."""

    # Its index is the constraint's, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="opt_outs", db_index=False)
    author = models.CharField(max_length=200)
    until = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[OptOutQuerySet] = OptOutQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # In and out at once would make "may her words be used" ambiguous; and its index finds a bank's.
            models.UniqueConstraint(name="opt_out_once", fields=["bank", "author"]),
        ]

    def __str__(self) -> str:
        return f"opt-out {self.pk}"


class ErasureRequest(models.Model):
    """Somebody asked in a chat that what she said be forgotten: out of memory at once, erased when an owner says so."""

    class State(models.TextChoices):
        OPEN = "open"
        RESTORED = "restored"
        ERASED = "erased"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="erasure_requests")
    chat = models.ForeignKey(Chat, models.SET_NULL, related_name="+", null=True)
    asked_in = models.PositiveBigIntegerField(db_index=True, help_text="The turn in which it was asked.")
    author = models.CharField(max_length=200)
    outputs = models.JSONField(help_text="Ids of the turns that are meant, that one among them.")
    facts = models.JSONField(default=list, help_text="Ids of the facts that were hidden for it.")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    asked_at = models.DateTimeField()
    closed_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(name="erasure_request_closed", condition=Q(state="open") | ~Q(closed_by="")),
        ]

    def __str__(self) -> str:
        return f"request {public_id(self.pk)}"
