"""What a person asked the workers to do now, and how far they are."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from .bank import Bank


class JobQuerySet(models.QuerySet["Job"]):
    """Sets of jobs."""

    def open(self) -> JobQuerySet:
        """Those that are not finished."""
        return self.filter(finished_at=None)


class Job(models.Model):
    """A wish: the work is marked where it waits anyway, this row says who asked and how much of it is done."""

    class Kind(models.TextChoices):
        SUMMARISE = "summarise", "Summarise now"
        COMPRESS = "compress", "Compress now"
        REBUILD = "rebuild", "Rebuild"
        RETRY = "retry", "Retry parked"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=10, choices=Kind)
    asked_by = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    total = models.PositiveBigIntegerField(default=0, help_text="Chats, tokens too many, or digests, at the beginning.")
    percent = models.PositiveSmallIntegerField(default=0, help_text="It never goes back.")
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[JobQuerySet] = JobQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        constraints = [
            # Who asks twice asks for one job; and its index finds what is open, after each piece of work.
            models.UniqueConstraint(name="job_open_once", fields=["bank", "kind"], condition=Q(finished_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.percent} %"
