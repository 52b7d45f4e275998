"""Signs of life: when somebody last looked for what is due, how many prompts were given memory, what a day was like."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models
from django.db.models import Count, F, OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest

from .bank import Bank
from .chat import Chat


class SweepQuerySet(models.QuerySet["Sweep"]):
    """The one row there is."""

    def note(self, now: datetime) -> None:
        """Somebody looks for what is due."""
        if not self.filter(pk=1).update(at=now):
            self.bulk_create([Sweep(pk=1, at=now)], ignore_conflicts=True)


class Sweep(models.Model):
    """When the last sweep was: without it nobody sees that beat or every worker is gone."""

    at = models.DateTimeField()

    objects: ClassVar[SweepQuerySet] = SweepQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"sweep at {self.at:%Y-%m-%d %H:%M:%S}"


class PromptCountQuerySet(models.QuerySet["PromptCount"]):
    """Sets of counts."""

    def note(self, bank_id: int, memory: PromptCount.Memory, now: datetime) -> None:
        """One more prompt was made."""
        which = {"bank_id": bank_id, "day": now.date(), "memory": memory}
        if not self._add(which):
            # Two first prompts of a day may meet here; the constraint lets one in, and both are counted.
            self.bulk_create([PromptCount(**which)], ignore_conflicts=True)
            self._add(which)

    def _add(self, which: dict[str, object]) -> int:
        return self.filter(**which).update(prompts=F("prompts") + 1)


class PromptCount(models.Model):
    """How many prompts of a bank were given memory on a day (UTC), and why others were not. Counts, never words."""

    class Memory(models.TextChoices):
        GIVEN = "given"
        OFF = "off", "memory is off"
        NOTHING = "nothing", "nothing is remembered yet"
        ASIDE = "aside", "it was no message of a chat"
        FAILED = "failed", "memory failed, and the answer came without it"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="prompt_counts", db_index=False)
    day = models.DateField()
    memory = models.CharField(max_length=10, choices=Memory)
    prompts = models.PositiveIntegerField(default=0)

    objects: ClassVar[PromptCountQuerySet] = PromptCountQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Two prompts at once are two on one row, not two rows.
            models.UniqueConstraint(name="prompt_count_unique", fields=["bank", "day", "memory"]),
        ]
        indexes = [
            # Read by vitals: one day of all banks.
            models.Index(name="prompt_count_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"{self.prompts} prompts on {self.day}: {self.memory}"


class BankDayQuerySet(models.QuerySet["BankDay"]):
    """Sets of days."""

    def note_due(self, now: datetime) -> None:
        """How many chats are due in each bank, if it is more than before on that day. One query when none is."""
        due = Chat.objects.due(now).order_by()
        banks = list(due.values_list("bank", flat=True).distinct())
        if not banks:
            return
        today = now.astimezone(UTC).date()
        self.bulk_create([BankDay(bank_id=bank, day=today) for bank in banks], ignore_conflicts=True, batch_size=500)
        at_once = due.filter(bank=OuterRef("bank")).values("bank").annotate(n=Count("pk")).values("n")
        self.filter(day=today).update(due=Greatest("due", Coalesce(Subquery(at_once), 0)))

    def note_block(self, bank: Bank, tokens: int, now: datetime) -> None:
        """How large its block is now."""
        size = {"block_tokens": tokens, "budget": bank.max_tokens}
        self.update_or_create(bank=bank, day=now.astimezone(UTC).date(), defaults=size)


class BankDay(models.Model):
    """What a day (UTC) of a bank was like: the most chats due at once, and its last block. Counts, never words."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    due = models.PositiveIntegerField(default=0)
    block_tokens = models.PositiveIntegerField(default=0)
    budget = models.PositiveIntegerField(default=0, help_text="0: no block was stored on that day.")

    objects: ClassVar[BankDayQuerySet] = BankDayQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Two who note at once note in one row; its index is read by the board.
            models.UniqueConstraint(name="bank_day_unique", fields=["bank", "day"]),
        ]
        indexes = [
            # Written by every sweep that finds something due.
            models.Index(name="bank_day_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"bank {self.bank_id} on {self.day}"
