"""Jobs that people requested, the time of the last sweep, and daily counts of prompts, due chats and blocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar, TypeVar

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from memorybank import conf, prepared

from .bank import Bank
from .chat import Chat


class JobQuerySet(models.QuerySet["Job"]):
    def open(self) -> JobQuerySet:
        """Unfinished jobs."""
        return self.filter(finished_at=None)


class Job(models.Model):
    """Work that a person requested, with its progress. The work itself is marked as due on its chats and bank."""

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
            # A repeated request does not create a second job. The index finds open jobs after each work item.
            models.UniqueConstraint(name="job_open_once", fields=["bank", "kind"], condition=Q(finished_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.percent} %"


class SweepQuerySet(models.QuerySet["Sweep"]):
    """The table has one row only."""

    def record_start(self, now: datetime) -> None:
        """Record that a sweep has begun."""
        if not self.filter(pk=1).update(at=now):
            self.bulk_create([Sweep(pk=1, at=now)], ignore_conflicts=True)


class Sweep(models.Model):
    """The time of the last sweep, which shows whether beat and a worker are running."""

    at = models.DateTimeField()

    objects: ClassVar[SweepQuerySet] = SweepQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"sweep at {self.at:%Y-%m-%d %H:%M:%S}"


CountsOfDay = TypeVar("CountsOfDay", bound=models.Model)

#: Raw SQL, because the ORM has no upsert that increments a column of the existing row.
_COUNT_PROMPT = """
    INSERT INTO memorybank_promptcount (bank_id, day, memory, prompts) VALUES (%s, %s, %s, %s)
    ON CONFLICT (bank_id, day, memory) DO UPDATE SET prompts = memorybank_promptcount.prompts + excluded.prompts
"""


class CountsOfDayQuerySet(models.QuerySet[CountsOfDay]):
    def expire(self, now: datetime) -> int:
        """Delete the rows of days more than ``STATISTICS_DAYS`` ago; return how many. An index by day finds them."""
        oldest = now.astimezone(UTC).date() - timedelta(days=conf.current().statistics_days)
        return self.filter(day__lt=oldest).delete()[0]


class PromptCountQuerySet(CountsOfDayQuerySet["PromptCount"]):
    def count_prompts(self, bank_id: int, memory: PromptCount.Memory, now: datetime, prompts: int = 1) -> None:
        """Count so many more prompts."""
        prepared.write(_COUNT_PROMPT, [bank_id, now.date(), str(memory), prompts])


class PromptCount(models.Model):
    """Number of a bank's prompts on a day (UTC): with memory, or without it for a given reason. It stores no text."""

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
            # Concurrent prompts increment the same row.
            models.UniqueConstraint(name="prompt_count_unique", fields=["bank", "day", "memory"]),
        ]
        indexes = [
            # Read by the health metrics: one day of all banks.
            models.Index(name="prompt_count_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"{self.prompts} prompts on {self.day}: {self.memory}"


class BankDayQuerySet(CountsOfDayQuerySet["BankDay"]):
    def record_due_chats(self, now: datetime) -> None:
        """Record each bank's number of due chats if it is the day's highest. One query if no chat is due."""
        due = Chat.objects.due(now).order_by()
        banks = list(due.values_list("bank", flat=True).distinct())
        if not banks:
            return
        today = now.astimezone(UTC).date()
        self.bulk_create([BankDay(bank_id=bank, day=today) for bank in banks], ignore_conflicts=True, batch_size=500)
        at_once = due.filter(bank=OuterRef("bank")).values("bank").annotate(n=Count("pk")).values("n")
        self.filter(day=today).update(due=Greatest("due", Coalesce(Subquery(at_once), 0)))

    def record_block_size(self, bank: Bank, tokens: int, now: datetime) -> None:
        """Record the size of the block in tokens."""
        size = {"block_tokens": tokens, "budget": bank.max_tokens}
        self.update_or_create(bank=bank, day=now.astimezone(UTC).date(), defaults=size)


class BankDay(models.Model):
    """A bank's day (UTC): the maximum of chats due at once, and the size of the last block. It stores no text."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    due = models.PositiveIntegerField(default=0)
    block_tokens = models.PositiveIntegerField(default=0)
    budget = models.PositiveIntegerField(default=0, help_text="0: no block was stored on that day.")

    objects: ClassVar[BankDayQuerySet] = BankDayQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Concurrent updates use the same row. The dashboard reads the index.
            models.UniqueConstraint(name="bank_day_unique", fields=["bank", "day"]),
        ]
        indexes = [
            # Read by the update in every sweep that finds due chats.
            models.Index(name="bank_day_by_day", fields=["day"]),
        ]

    def __str__(self) -> str:
        return f"bank {self.bank_id} on {self.day}"
