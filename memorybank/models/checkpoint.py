"""Checkpoints: what stands in a prompt for the earlier turns of a chat; and how far somebody is with making one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .chat import Chat
from .entry import EXTRACTIVE
from .leases import Leased, LeasedQuerySet
from .ledger import backoff
from .output import Output


class CheckpointQuerySet(models.QuerySet["Checkpoint"]):
    """Sets of checkpoints."""

    def newest(self, chat_id: int, before: int | None = None) -> Checkpoint | None:
        """The one that stands in a chat's prompt; with ``before`` (a sequence) as it would for that turn."""
        made = self.filter(chat=chat_id) if before is None else self.filter(chat=chat_id, through__lt=before)
        return made.order_by("-through", "-pk").first()

    def forget(self, touched: Mapping[int, Mapping[int, int]]) -> int:
        """Delete those that cover one of these outputs, given by chat as id and sequence; how many.

        The turns themselves are told again.
        A checkpoint is made of all that was before it, so there is no telling what of it rests on which turn.
        """
        first = {chat: min(outputs.values()) for chat, outputs in touched.items() if outputs}
        Compaction.objects.filter(chat__in=first).update(focus="", awaited=False)
        rows = self.filter(chat__in=first).values_list("pk", "chat", "through")
        return self.filter(pk__in=[pk for pk, chat, through in rows if through >= first[chat]]).delete()[0]


class Checkpoint(models.Model):
    """What stands in a chat's prompt for its turns up to ``through``. The turns stay where they are.

    ``text`` is what a model is sent, to the letter; ``notes`` are [section, text] for the next one to go on from.
    """

    # Its index is the one below, which begins with it.
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="checkpoints", db_index=False)
    through = models.PositiveBigIntegerField(help_text="The sequence of the last output that it stands for.")
    notes = models.JSONField(default=list)
    text = models.TextField()
    tokens_before = models.PositiveIntegerField(help_text="What the chat was in a prompt, without system and memory.")
    tokens_after = models.PositiveIntegerField(help_text="What it was then, with the turns that were kept.")
    method = models.CharField(max_length=200)
    made_at = models.DateTimeField()

    objects: ClassVar[CheckpointQuerySet] = CheckpointQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # A checkpoint that is longer than what it stands for would be made again for every message.
            models.CheckConstraint(name="checkpoint_gains", condition=Q(tokens_after__lt=models.F("tokens_before"))),
        ]
        indexes = [
            # Read before every prompt: a chat's newest.
            models.Index(name="checkpoint_by_chat", fields=["chat", "through"]),
        ]

    def __str__(self) -> str:
        return f"checkpoint {self.pk}"

    @property
    def last_output(self) -> int:
        """The id of the last output that it stands for. Erasing that one deletes the checkpoint."""
        return Output.objects.values_list("pk", flat=True).get(chat=self.chat_id, sequence=self.through)

    @property
    def is_extracted(self) -> bool:
        """Whether no model wrote it."""
        return self.method == EXTRACTIVE


class CompactionQuerySet(LeasedQuerySet["Compaction"]):
    """Sets of compactions."""

    def begin(
        self, chat: Chat, now: datetime, lease: timedelta, *, focus: str = "", awaited: bool = False
    ) -> Compaction | None:
        """The compaction of ``chat``, held by the caller until ``lease`` has passed; None while somebody else is at it.

        Saying how far it is extends it: one that was killed keeps nobody waiting for long.
        """
        begun = {"percent": 0, "stage": Compaction.Stage.LOAD, "done": 0, "of": 0, "error": ""}
        with transaction.atomic():
            row, _ = self.get_or_create(chat=chat)
            held = self.claim(row.pk, now)
            if held:
                held.focus, held.awaited = focus, awaited
                held.note(now + lease, focus=focus, awaited=awaited, **begun)
        return held

    def resume(self, chat: Chat, now: datetime, lease: timedelta) -> Compaction | None:
        """What :meth:`begin` gives, of one that is awaited and whose process died; once, should it be what kills."""
        left = self.filter(chat=chat, awaited=True, leased_until__lte=now).first()
        return self.begin(chat, now, lease, focus=left.focus) if left else None

    def running(self, chat_id: int, now: datetime) -> Compaction | None:
        """How far somebody is with it at ``now``; None if nobody is at it."""
        return self.filter(chat=chat_id, leased_until__gt=now).first()

    def may_begin(self, chat_id: int, now: datetime) -> bool:
        """Whether it is worth trying unasked: not for a while after it has failed."""
        return not self.filter(chat=chat_id, retry_at__gt=now).exists()


class Compaction(Leased):
    """Making a checkpoint of a chat: one at a time, how far it is, and why the last one came to nothing."""

    class Stage(models.TextChoices):
        LOAD = "load", _("reading the chat")
        STRATEGY = "strategy", _("planning")
        PARTS = "parts", _("taking notes")
        MERGED = "merged", _("putting the notes together")
        WRITTEN = "written", _("written")

    chat = models.OneToOneField(Chat, models.CASCADE, related_name="compaction")
    percent = models.PositiveSmallIntegerField(default=0)
    stage = models.CharField(max_length=10, choices=Stage, default=Stage.LOAD)
    done = models.PositiveIntegerField(default=0, help_text="Parts that are read.")
    of = models.PositiveIntegerField(default=0, help_text="Parts that there are.")
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True, help_text="Not tried again unasked before.")
    error = models.CharField(max_length=500, blank=True)
    focus = models.CharField(max_length=1_000, blank=True, help_text="What matters most, while it is being made.")
    awaited = models.BooleanField(default=False, help_text="Somebody asked for it, so it is resumed if it breaks off.")

    objects: ClassVar[CompactionQuerySet] = CompactionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(name="compaction_percent", condition=Q(percent__lte=100)),
        ]

    def __str__(self) -> str:
        return f"compaction {self.pk}"

    def note(self, until: datetime, **how_far: Any) -> None:
        """Say how far it is, for whoever looks, and hold it ``until`` then; of no effect once the lease is lost."""
        if self.lease_token:  # "" is that of every row which nobody holds
            mine = Compaction.objects.filter(pk=self.pk, lease_token=self.lease_token)
            mine.update(leased_until=until, **how_far)

    def broke_off(self, now: datetime) -> bool:
        """Whether the process that held it has died."""
        return self.leased_until is not None and self.leased_until <= now

    def give_back(self, **changes: Any) -> bool:
        """Release it, with nothing left of what was asked; False if it was lost meanwhile."""
        return self.release(focus="", awaited=False, **changes)

    def failed(self, why: str, now: datetime) -> None:
        """Give it back with the reason; it is not tried again unasked for a while."""
        failures = self.failures + 1
        self.give_back(error=why[:500], failures=failures, retry_at=now + backoff(failures))
