"""Chats: what waits in each to be summarised and indexed, and since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import connection, models, transaction
from django.db.models import F, Q
from django.utils import timezone

from memorybank import conf

from .bank import Bank
from .block import StoredBlock
from .block_history import BlockLineVersion
from .leases import Leased, LeasedQuerySet


class ChatQuerySet(LeasedQuerySet["Chat"]):
    """Sets of chats."""

    def due(self, now: datetime) -> ChatQuerySet:
        """Chats whose turns should be summarised at ``now``."""
        return self.filter(due_at__lte=now, private=False, bank__enabled=True).leasable(now)

    def untried(self) -> ChatQuerySet:
        """Chats that did not fail when last tried, the longest due first."""
        return self.filter(attempts=0).order_by("due_at", "pk")

    def tried(self) -> ChatQuerySet:
        """Chats that failed when last tried, those that failed least first."""
        return self.filter(attempts__gt=0).order_by("attempts", "due_at", "pk")

    def waiting(self) -> ChatQuerySet:
        """Chats with turns to be summarised, or summaries to be made anew."""
        return self.filter(Q(pending_outputs__gt=0) | Q(stale=True))

    def parked(self) -> ChatQuerySet:
        """Chats given up on until somebody asks for a retry."""
        return self.filter(parked_at__isnull=False)

    def retry(self, now: datetime) -> int:
        """Give parked chats another chance, at once; how many."""
        return self.update(parked_at=None, attempts=0, due_at=now)

    def failing(self) -> ChatQuerySet:
        """Chats that failed when last tried and wait for their next try."""
        return self.waiting().filter(attempts__gt=0, parked_at=None, private=False, bank__enabled=True)

    def revive(self, since: datetime, *, afresh: bool = True) -> int:
        """Give a fresh start, or else one more attempt, to chats that failed only while the model answered nobody well.

        ``failed_since`` stays (but for a tick: several things may happen at one ``now``), so a chat
        whose own content fails is pardoned once, not for ever. Bank by bank, each in its own transaction.
        """
        failed = self.waiting().filter(failed_since__gte=since, private=False)
        banks = failed.order_by("bank_id").values_list("bank_id", flat=True).distinct()
        return sum(failed.filter(bank=bank, attempts__gt=0)._revive_in(bank, afresh) for bank in banks)

    @transaction.atomic
    def _revive_in(self, bank: int, afresh: bool) -> int:
        Bank.objects.lock(bank)
        return self.update(
            attempts=0 if afresh else F("attempts") - 1,
            parked_at=None,
            due_at=F("last_output_at"),
            failed_since=F("failed_since") - timedelta(microseconds=1),
        )

    def schedule(self, bank: Bank) -> int:
        """Set when each waiting chat of ``bank`` is due, after its settings changed."""
        waiting = self.waiting().filter(bank=bank, parked_at=None)
        if not bank.enabled:
            return waiting.update(due_at=None)
        waiting.filter(private=True).update(due_at=None)
        return waiting.filter(private=False).update(due_at=F("last_output_at") + timedelta(minutes=bank.idle_minutes))

    def reindex(self, bank: Bank) -> int:
        """Have the covered turns of ``bank`` indexed that are not, now that it is on; nothing while it is off."""
        if not bank.enabled:
            return self.filter(bank=bank, index_due=True).update(index_due=False)
        unindexed = self.filter(bank=bank, private=False, summarised_through__gt=F("indexed_through"))
        return unindexed.update(index_due=True)

    def store(self, chats: Iterable[Chat], names: Sequence[str]) -> None:
        """Write these fields of many chats, each its own values. ``bulk_update`` does so fifty times more slowly."""
        every = {field.name: field for field in self.model._meta.concrete_fields}
        fields = [every[name] for name in (*names, "id")]
        rows = [[field.get_db_prep_save(getattr(chat, field.name), connection) for field in fields] for chat in chats]
        assignments = ", ".join(f'"{every[name].column}" = %s' for name in names)
        with connection.cursor() as cursor:  # names are ours, values are parameters
            cursor.executemany(f'UPDATE "{self.model._meta.db_table}" SET {assignments} WHERE "id" = %s', rows)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete them, and with them every line that rests on their words, also in stored blocks.

        Whoever has read their words writes none.
        """
        from .entry import Entry  # entries know their chats

        with transaction.atomic():
            gone: dict[int, list[str]] = defaultdict(list)
            for bank_id, key in self.values_list("bank_id", "key"):
                gone[bank_id].append(key)
            banks = list(Bank.objects.select_for_update().filter(pk__in=gone).order_by("pk"))
            leaves = Entry.objects.filter(chat__in=self.values("pk"))
            digests = list(leaves.above().values_list("pk", flat=True))
            deleted = super().delete()
            Entry.objects.filter(pk__in=digests).prune()
            Bank.objects.filter(pk__in=gone).update(epoch=F("epoch") + 1)
            for bank in banks:
                StoredBlock.objects.invalidate(bank, chats=gone[bank.pk], now=timezone.now())
                BlockLineVersion.objects.drop(bank, chats=gone[bank.pk])
        return deleted

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Chat.objects.delete()


class Chat(Leased):
    """One conversation of the outer application, known there as ``key``."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="chats")
    key = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True)
    private = models.BooleanField(default=False, help_text="Neither summarised nor shown as memory.")
    last_output_at = models.DateTimeField(null=True, blank=True)
    pending_outputs = models.PositiveIntegerField(default=0, help_text="Turns waiting to be summarised.")
    stale = models.BooleanField(default=False, editable=False, help_text="A summary of it is to be made anew.")
    summarised_through = models.PositiveBigIntegerField(
        default=0, help_text="The watermark: the sequence of the last output that memory covers."
    )
    indexed_through = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="The sequence of the last output that recall has looked at."
    )
    index_due = models.BooleanField(default=False, editable=False, help_text="Turns wait to be indexed.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="When the sweep should look at it; empty: never.")
    attempts = models.PositiveIntegerField(default=0)
    failed_since = models.DateTimeField(null=True, blank=True, help_text="First failure since it last worked.")
    parked_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)

    kept_block = models.ForeignKey(
        StoredBlock,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="kept_by",
        help_text="The block it was last given: while people write in it, it keeps that.",
    )

    objects: ClassVar[ChatQuerySet] = ChatQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Recording must find the chat it means, whoever else records at the same moment.
            models.UniqueConstraint(name="chat_key_unique_in_bank", fields=["bank", "key"]),
            # An empty key would pour unrelated turns into one chat.
            models.CheckConstraint(name="chat_key_not_empty", condition=~Q(key="")),
        ]
        indexes = [
            # Read by ChatQuerySet.due on every sweep; settled, private and parked chats are not in it.
            models.Index(name="chat_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # Read by queueing before every summary: whichever of a bank's chats is the longest due.
            models.Index(
                name="chat_untried_in_bank", fields=["bank", "due_at"], condition=Q(due_at__isnull=False, attempts=0)
            ),
            # Read by ChatQuerySet.parked in every report; nearly no chat is in it.
            models.Index(name="chat_parked", fields=["bank"], condition=Q(parked_at__isnull=False)),
            # Read by indexing on every sweep; chats whose turns are all indexed are not in it.
            models.Index(name="chat_index_due", fields=["id"], condition=Q(index_due=True)),
        ]

    def __str__(self) -> str:
        return self.title or self.key

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete it as a set of one, and with it every stored block of its bank."""
        return Chat.objects.filter(pk=self.pk).delete()

    def next_due(self, bank: Bank) -> datetime | None:
        """When its waiting turns should be summarised: at once if many, else when it falls idle."""
        waits = self.pending_outputs or self.stale
        if not (waits and bank.enabled and self.last_output_at) or self.private or self.parked_at:
            return None
        if self.pending_outputs >= conf.current().due_after_turns:
            return self.last_output_at
        return self.last_output_at + timedelta(minutes=bank.idle_minutes)
