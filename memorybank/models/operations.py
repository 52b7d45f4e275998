"""Jobs that people requested, the time of the last sweep, and daily counts of prompts, due chats and blocks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from .bank import Bank
from .chat import Chat


class JobQuerySet(models.QuerySet["Job"]):
    def open(self) -> JobQuerySet:
        """Unfinished jobs."""
        return self.filter(finished_at=None)


class Job(models.Model):
    """Work that a person requested. The work itself is marked as due; this row has the requester and the progress."""

    class Kind(models.TextChoices):
        SUMMARISE = "summarise", "Summarise now"
        COMPRESS = "compress", "Compress now"
        REBUILD = "rebuild", "Rebuild"
        RETRY = "retry", "Retry parked"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    asked_by = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    total = models.PositiveBigIntegerField(default=0, help_text="Chats, excess tokens or digests at the beginning.")
    percent = models.PositiveSmallIntegerField(default=0, help_text="It never decreases.")
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[JobQuerySet] = JobQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        constraints = [
            # A repeated request is one job. Its index finds open jobs after each piece of work.
            models.UniqueConstraint(name="job_open_once", fields=["bank", "kind"], condition=Q(finished_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.percent} %"


class SweepQuerySet(models.QuerySet["Sweep"]):
    """The only row."""

    def note(self, now: datetime) -> None:
        """Note that a sweep has begun."""
        if not self.filter(pk=1).update(at=now):
            self.bulk_create([Sweep(pk=1, at=now)], ignore_conflicts=True)


class Sweep(models.Model):
    """The time of the last sweep, which shows whether beat and a worker are running."""

    at = models.DateTimeField()

    objects: ClassVar[SweepQuerySet] = SweepQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"sweep at {self.at:%Y-%m-%d %H:%M:%S}"


class PromptCountQuerySet(models.QuerySet["PromptCount"]):
    def note(self, bank_id: int, memory: PromptCount.Memory, now: datetime) -> None:
        """Count one more prompt."""
        which = {"bank_id": bank_id, "day": now.date(), "memory": memory}
        if not self._add(which):
            # Of two concurrent first prompts of a day the constraint lets one insert; both are counted below.
            self.bulk_create([PromptCount(**which)], ignore_conflicts=True)
            self._add(which)

    def _add(self, which: dict[str, object]) -> int:
        return self.filter(**which).update(prompts=F("prompts") + 1)


class PromptCount(models.Model):
    """Prompts of a bank on a day (UTC), with memory or with the reason why not. It has no text."""

    class Memory(models.TextChoices):
        GIVEN = "given"
        OFF = "off", "memory is off"
        NOTHING = "nothing", "nothing is remembered yet"
        ASIDE = "aside", "it was no message of a chat"
        FAILED = "failed", "memory failed, and the answer came without it"
        SLOW = "slow", "the database did not answer in time, and the answer came without memory"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="prompt_counts", db_index=False)
    day = models.DateField()
    memory = models.CharField(max_length=10, choices=Memory)
    prompts = models.PositiveIntegerField(default=0)

    objects: ClassVar[PromptCountQuerySet] = PromptCountQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Concurrent prompts are counted in one row.
            models.UniqueConstraint(name="prompt_count_unique", fields=["bank", "day", "memory"]),
        ]
        indexes = [
            # Read by the health metrics: one day of all banks.
            models.Index(name="prompt_count_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"{self.prompts} prompts on {self.day}: {self.memory}"


class BankDayQuerySet(models.QuerySet["BankDay"]):
    def note_due(self, now: datetime) -> None:
        """Note the number of due chats in each bank, if it is the highest of the day. One query if there is none."""
        due = Chat.objects.due(now).order_by()
        banks = list(due.values_list("bank", flat=True).distinct())
        if not banks:
            return
        today = now.astimezone(UTC).date()
        self.bulk_create([BankDay(bank_id=bank, day=today) for bank in banks], ignore_conflicts=True, batch_size=500)
        at_once = due.filter(bank=OuterRef("bank")).values("bank").annotate(n=Count("pk")).values("n")
        self.filter(day=today).update(due=Greatest("due", Coalesce(Subquery(at_once), 0)))

    def note_block(self, bank: Bank, tokens: int, now: datetime) -> None:
        """Note the size of the block."""
        size = {"block_tokens": tokens, "budget": bank.max_tokens}
        self.update_or_create(bank=bank, day=now.astimezone(UTC).date(), defaults=size)


class BankDay(models.Model):
    """A day (UTC) of a bank: the most chats due at once, and the size of its last block. It has no text."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    due = models.PositiveIntegerField(default=0)
    block_tokens = models.PositiveIntegerField(default=0)
    budget = models.PositiveIntegerField(default=0, help_text="0: no block was stored on that day.")

    objects: ClassVar[BankDayQuerySet] = BankDayQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Concurrent notes go to one row. Its index is read by the dashboard.
            models.UniqueConstraint(name="bank_day_unique", fields=["bank", "day"]),
        ]
        indexes = [
            # Written by every sweep that finds something due.
            models.Index(name="bank_day_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"bank {self.bank_id} on {self.day}"
