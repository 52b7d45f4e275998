"""What was erased, and by whose wish: receipts that hold no word of it, and keep it from coming back."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.utils.crypto import salted_hmac

from .bank import Bank

#: What may be named: ("chat", its key), ("author", who), ("output", the key of its chat, its own), ("everything",).
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
        EVERYTHING = "everything"

    # Its index is the one below, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="erasures", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    subject = models.CharField(max_length=40, help_text="What was erased, as a keyed hash.")
    asked_by = models.CharField(max_length=200)
    epoch = models.PositiveIntegerField(help_text="Work begun before this epoch writes nothing.")
    counts = models.JSONField(help_text="How much went, and what is made anew.")
    at = models.DateTimeField()

    objects: ClassVar[ErasureQuerySet] = ErasureQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        indexes = [
            # Read by recording, in a bank where anything was erased: may this come in?
            models.Index(name="erasure_of_subject", fields=["bank", "subject"]),
        ]

    def __str__(self) -> str:
        return f"erasure {self.pk}"

    @staticmethod
    def digest(bank: Bank, subject: Subject) -> str:
        """What a subject is known by; nobody without the site's key can try names, nor compare two banks."""
        said = "\x00".join((str(bank.pk), *subject))
        return salted_hmac("memorybank.erased", said, algorithm="sha256").hexdigest()[:40]
