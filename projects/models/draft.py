"""Drafts: the part of an unfinished answer that has arrived, so that other processes can show it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models

#: A process that generates an answer saves it every few seconds; after this time without a save it counts as dead.
DEAD_AFTER = timedelta(seconds=15)


class DraftQuerySet(models.QuerySet["Draft"]):
    def alive(self, now: datetime) -> DraftQuerySet:
        """Drafts whose process is still writing."""
        return self.filter(saved_at__gt=now - DEAD_AFTER)


class Draft(models.Model):
    """An unfinished answer, which may have broken off. It is deleted once its message is answered or erased.

    Memory never reads it.
    """

    output = models.OneToOneField("memorybank.Output", models.CASCADE, primary_key=True, related_name="draft")
    text = models.TextField(blank=True)
    saved_at = models.DateTimeField(help_text="When its process was last heard of.")
    stopping = models.BooleanField(default=False, help_text="A member asked to stop it.")

    objects: ClassVar[DraftQuerySet] = DraftQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"draft of output {self.output_id}"
