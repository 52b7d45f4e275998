"""Imports of another product's export on the site, and their conversations that wait to be imported."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from .project import Project

#: A worker that has not renewed its claim for this long counts as dead.
RUN_CLAIMED_FOR = timedelta(minutes=2)
#: A run that nobody starts is deleted after this time, with the conversations read from its file.
UNSTARTED_RUNS_KEPT_FOR = timedelta(days=1)


class ImportRunQuerySet(models.QuerySet["ImportRun"]):
    def unfinished(self) -> ImportRunQuerySet:
        """Runs that were started and have not finished."""
        return self.filter(started_at__isnull=False, finished_at=None)

    def due(self, now: datetime) -> ImportRunQuerySet:
        """Unfinished runs that no worker has claimed, or whose claim has expired."""
        return self.unfinished().filter(Q(claimed_until=None) | Q(claimed_until__lte=now))

    def claim(self, pk: int, now: datetime) -> bool:
        """Take a due run; False if another worker has it."""
        return bool(self.due(now).filter(pk=pk).update(claimed_until=now + RUN_CLAIMED_FOR))

    def forgotten(self, now: datetime) -> ImportRunQuerySet:
        """Runs that were never started and are older than ``UNSTARTED_RUNS_KEPT_FOR``."""
        return self.filter(started_at=None, created_at__lt=now - UNSTARTED_RUNS_KEPT_FOR)


class ImportRun(models.Model):
    """An export that was read, and perhaps imported; without ``started_at`` it is only a dry run."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="import_runs")
    format = models.CharField(max_length=20)
    file = models.CharField(max_length=200)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    report = models.JSONField(default=dict, help_text="What the dry run counted; empty while the file is being read.")
    audience = models.CharField(max_length=10, blank=True)
    authors = models.JSONField(default=dict, help_text="A person of the export → the member whose chats they become.")
    total = models.PositiveIntegerField(default=0, help_text="Conversations to import.")
    done = models.PositiveIntegerField(default=0)
    recorded = models.PositiveIntegerField(default=0, help_text="New turns.")
    known = models.PositiveIntegerField(default=0, help_text="Turns that were there already.")
    bad = models.PositiveIntegerField(default=0, help_text="What was left out, of which the first are named.")
    reasons = models.JSONField(default=list)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    claimed_until = models.DateTimeField(null=True, help_text="Until when a worker is believed to be at it.")

    objects: ClassVar[ImportRunQuerySet] = ImportRunQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Queried by each sweep for started runs. It excludes finished ones.
            models.Index(
                name="import_run_open",
                fields=["started_at"],
                condition=Q(started_at__isnull=False, finished_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 100


class WaitingConversation(models.Model):
    """A conversation of a run. Importing it deletes its content and stores the key of its chat, for the link."""

    run = models.ForeignKey(ImportRun, models.CASCADE, related_name="conversations")
    content = models.JSONField(null=True, help_text="As it was read; empty once it is imported.")
    chat_key = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            # Queried for the next conversation of a run. It excludes imported ones.
            models.Index(name="conversation_waiting", fields=["run", "id"], condition=Q(chat_key="")),
        ]

    def __str__(self) -> str:
        return f"conversation {self.pk} of import {self.run_id}"
