"""Checkpoints, which replace the earlier turns of a chat in its prompt, and compactions, which write them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .chat import Chat, Output
from .entry import EXTRACTIVE
from .leases import Leased, LeasedQuerySet
from .ledger import backoff


class CheckpointQuerySet(models.QuerySet["Checkpoint"]):
    def newest(self, chat_id: int, before_sequence: int | None = None) -> Checkpoint | None:
        """A chat's newest checkpoint; with ``before_sequence``, the newest one that ends before the turn with it."""
        made = self.filter(chat=chat_id)
        if before_sequence is not None:
            made = made.filter(through__lt=before_sequence)
        return made.order_by("-through", "-pk").first()

    def drop(self, outputs: Mapping[int, Mapping[int, int]]) -> int:
        """Delete the checkpoints that cover one of these outputs (chat id → output id → sequence); return how many.

        A checkpoint is derived from all earlier turns together, so parts of it cannot be attributed to single turns.
        """
        first = {chat: min(sequences.values()) for chat, sequences in outputs.items() if sequences}
        Compaction.objects.filter(chat__in=first).update(focus="", awaited=False)
        rows = self.filter(chat__in=first).values_list("pk", "chat", "through")
        return self.filter(pk__in=[pk for pk, chat, through in rows if through >= first[chat]]).delete()[0]


class Checkpoint(models.Model):
    """Notes that replace a chat's turns up to ``through`` in its prompt. The turns stay stored.

    ``text`` is sent to the model verbatim. ``notes``, a list of [section, text], are the input of the next checkpoint.
    """

    # No separate index: the index below starts with this column.
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="checkpoints", db_index=False)
    through = models.PositiveBigIntegerField(help_text="The sequence of the last output that it replaces.")
    notes = models.JSONField(default=list)
    text = models.TextField()
    tokens_before = models.PositiveIntegerField(
        help_text="Tokens of the chat in a prompt before, without system prompt and memory."
    )
    tokens_after = models.PositiveIntegerField(
        help_text="Tokens of the chat in a prompt afterwards, with the messages that were kept."
    )
    method = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    objects: ClassVar[CheckpointQuerySet] = CheckpointQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # A checkpoint that saves no tokens would be written again for every message.
            models.CheckConstraint(name="checkpoint_gains", condition=Q(tokens_after__lt=models.F("tokens_before"))),
        ]
        indexes = [
            # Read before every prompt: a chat's newest checkpoint.
            models.Index(name="checkpoint_by_chat", fields=["chat", "through"]),
        ]

    def __str__(self) -> str:
        return f"checkpoint {self.pk}"

    @property
    def last_output(self) -> int:
        """The id of the last output that it replaces. Erasing that output deletes the checkpoint."""
        return Output.objects.values_list("pk", flat=True).get(chat=self.chat_id, sequence=self.through)

    @property
    def is_extracted(self) -> bool:
        """Whether it was extracted without a model."""
        return self.method == EXTRACTIVE


class CompactionQuerySet(LeasedQuerySet["Compaction"]):
    def begin(
        self, chat: Chat, now: datetime, lease: timedelta, *, focus: str = "", awaited: bool = False
    ) -> Compaction | None:
        """Take the lease of a chat's compaction; None if another process holds it.

        ``note`` extends the lease, so ``lease`` can be short: if the process is killed, others wait only briefly.
        """
        begun = {"percent": 0, "stage": Compaction.Stage.LOAD, "done": 0, "of": 0, "error": ""}
        with transaction.atomic():
            row, _ = self.get_or_create(chat=chat)
            compaction = self.claim(row.pk, now)
            if compaction:
                compaction.focus, compaction.awaited = focus, awaited
                compaction.save_progress(now + lease, focus=focus, awaited=awaited, **begun)
        return compaction

    def resume(self, chat: Chat, now: datetime, lease: timedelta) -> Compaction | None:
        """Like :meth:`begin`, for an awaited compaction whose process died; only once, as it may have caused that."""
        left = self.filter(chat=chat, awaited=True, leased_until__lte=now).first()
        return self.begin(chat, now, lease, focus=left.focus) if left else None

    def running(self, chat_id: int, now: datetime) -> Compaction | None:
        """The running compaction of a chat; None if there is none."""
        return self.filter(chat=chat_id, leased_until__gt=now).first()

    def may_begin(self, chat_id: int, now: datetime) -> bool:
        """Whether a compaction may start automatically: not before ``retry_at`` after a failure."""
        return not self.filter(chat=chat_id, retry_at__gt=now).exists()


class Compaction(Leased):
    """A chat's compaction, which writes a checkpoint: its lease, its progress, and the error of the last attempt."""

    class Stage(models.TextChoices):
        LOAD = "load", _("reading the chat")
        STRATEGY = "strategy", _("planning")
        PARTS = "parts", _("taking notes")
        MERGED = "merged", _("putting the notes together")
        WRITTEN = "written", _("written")

    chat = models.OneToOneField(Chat, models.CASCADE, related_name="compaction")
    percent = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.LOAD)
    done = models.PositiveIntegerField(default=0, help_text="Parts that were read.")
    of = models.PositiveIntegerField(default=0, help_text="Parts in total.")
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True, help_text="No automatic retry before this time.")
    error = models.CharField(max_length=500, blank=True)
    focus = models.CharField(
        max_length=1_000, blank=True, help_text="What the checkpoint should focus on; empty once it is written."
    )
    awaited = models.BooleanField(
        default=False, help_text="A person asked for it, so it is resumed after an interruption."
    )

    objects: ClassVar[CompactionQuerySet] = CompactionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(name="compaction_percent", condition=Q(percent__lte=100)),
        ]

    def __str__(self) -> str:
        return f"compaction {self.pk}"

    def save_progress(self, until: datetime, **progress: Any) -> None:
        """Save progress and extend the lease to ``until``; does nothing if the lease was lost."""
        if self.lease_token:  # every row without a lease has the token ""
            mine = Compaction.objects.filter(pk=self.pk, lease_token=self.lease_token)
            mine.update(leased_until=until, **progress)

    def broke_off(self, now: datetime) -> bool:
        """Whether its lease has expired without being released: the process has died."""
        return self.leased_until is not None and self.leased_until <= now

    def give_back(self, **changes: Any) -> bool:
        """Release the lease and clear the request; False if the lease was lost."""
        return self.release(focus="", awaited=False, **changes)

    def failed(self, why: str, now: datetime) -> None:
        """Release the lease with the reason; no automatic retry for a while."""
        failures = self.failures + 1
        self.give_back(error=why[:500], failures=failures, retry_at=now + backoff(failures))
