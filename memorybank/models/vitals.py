"""Signs of life: when somebody last looked for what is due, and how many prompts were given memory."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import F

from .bank import Bank


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
