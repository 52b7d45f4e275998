"""An answer that is being written: as much of it as there is, for whoever listens in another process."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models

#: Whoever writes an answer says at least every few seconds that he still does; after so long nobody does.
PATIENCE = timedelta(seconds=15)


class DraftQuerySet(models.QuerySet["Draft"]):
    """Sets of drafts."""

    def alive(self, now: datetime) -> DraftQuerySet:
        """Those that somebody is at work on."""
        return self.filter(saved_at__gt=now - PATIENCE)


class Draft(models.Model):
    """It goes when its message is answered or erased. No memory reads it."""

    output = models.OneToOneField("memorybank.Output", models.CASCADE, primary_key=True, related_name="draft")
    text = models.TextField(blank=True)
    saved_at = models.DateTimeField(help_text="When its process was last heard of.")
    stopping = models.BooleanField(default=False, help_text="Somebody asked to stop it.")

    objects: ClassVar[DraftQuerySet] = DraftQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"draft of output {self.output_id}"
