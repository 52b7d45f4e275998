"""Rendered blocks as they are stored: lines with their sources, so that a chat gets them without its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from django.db import models, transaction
from django.db.models import F

from memorybank import conf
from memorybank.core.packing.memory_line import PackedBlock
from memorybank.language import tokens

from .bank import Bank
from .block_history import BlockLineVersion

#: Before any time that a sweep may be told: no chat is older.
LONG_DUE = datetime(1970, 1, 1, tzinfo=UTC)


class StoredBlockQuerySet(models.QuerySet["StoredBlock"]):
    """Sets of stored blocks. The newest of a bank is the current one."""

    def current(self, bank_id: int) -> StoredBlock | None:
        """The block that a chat gets which keeps none."""
        return self.filter(bank=bank_id).order_by("-version").first()

    def current_version(self, bank_id: int) -> int:
        """Which that is, without reading it; 0: there is none."""
        newest = self.filter(bank=bank_id).order_by("-version").values_list("version", flat=True)
        return newest.first() or 0

    def store(self, bank: Bank, block: PackedBlock, now: datetime) -> bool:
        """Store the block made of ``bank`` as it was read, unless an erasure, a newer one or its end got there first.

        Older ones stay while a chat keeps them in which somebody has just written.
        """
        with transaction.atomic():
            held = Bank.objects.select_for_update().filter(pk=bank.pk, epoch=bank.epoch).exists()
            if not held or self.current_version(bank.pk) >= bank.version:
                return False
            stored = self._add(bank.pk, bank.version, block, now)
            BlockLineVersion.objects.note(bank, block, now)
            warm = now - timedelta(minutes=conf.current().block_keep_minutes)
            kept = self.filter(bank=bank, kept_by__last_output_at__gte=warm).values("pk")
            self.filter(bank=bank).exclude(pk=stored.pk).exclude(pk__in=kept).delete()
        return True

    def invalidate(
        self, bank: Bank, *, chats: Collection[str] = (), facts: Collection[int] = (), now: datetime | None
    ) -> None:
        """Take the words of some chats, or some facts, out of what is stored, at once: lines are dropped.

        Nobody keeps an older block. The next sweep renders anew, if nobody does before. The caller holds the bank, and
        says by ``now`` when the lines left it (None: they say the same in other words).
        """
        newest = self.current(bank.pk)
        self.filter(bank=bank).delete()
        if newest:
            rest = newest.without(bank.max_tokens, chats=chats, facts=facts)
            self._add(bank.pk, bank.version + 1, rest, newest.made_at)
            if now:
                BlockLineVersion.objects.note(bank, rest, now)
        Bank.objects.filter(pk=bank.pk).update(version=F("version") + 2, compress_at=LONG_DUE)

    def _add(self, bank_id: int, version: int, block: PackedBlock, made_at: datetime | None) -> StoredBlock:
        return self.create(
            bank_id=bank_id,
            version=version,
            made_at=made_at,
            text=block.text,
            tokens=block.tokens,
            encoding=conf.current().encoding,
            lines=block.as_json(),
        )


class StoredBlock(models.Model):
    """One version of a bank's block."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="blocks", db_index=False)
    version = models.PositiveBigIntegerField(help_text="The version of the bank it was made of.")
    made_at = models.DateTimeField(null=True, help_text="When it was rendered; lines that left it later left at once.")
    text = models.TextField(blank=True)
    tokens = models.PositiveIntegerField()
    encoding = models.CharField(max_length=20)
    lines = models.JSONField(help_text="Its lines and those in reserve, each by its fields; see packing.MemoryLine.")

    objects: ClassVar[StoredBlockQuerySet] = StoredBlockQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Two workers cannot store the same version; and its index finds a bank's newest.
            models.UniqueConstraint(name="block_unique_in_version", fields=["bank", "version"]),
        ]

    def __str__(self) -> str:
        return f"block {self.version} of bank {self.bank_id}"

    @staticmethod
    def current_tokens(bank: str) -> models.Subquery:
        """Tokens of the current block, to annotate rows whose bank's id is the column ``bank``."""
        newest = StoredBlock.objects.filter(bank=models.OuterRef(bank)).order_by("-version")
        return models.Subquery(newest.values("tokens")[:1])

    def shown_to(self, chat_key: str, budget: int) -> PackedBlock:
        """As a chat gets it: without its own words, and within ``budget`` tokens, by dropping lines."""
        return self.without(budget, chats=[chat_key] if chat_key else [])

    def without(self, budget: int, *, chats: Collection[str], facts: Collection[int] = ()) -> PackedBlock:
        """Without the words of some chats and without some facts, counted in the encoding that is set now."""
        from memorybank.core.packing.exclusion import exclude  # a command that shows no block begins without it

        encoding = conf.current().encoding
        # else the setting was changed a moment ago
        size = self.tokens if encoding == self.encoding else tokens.count(self.text, encoding)
        block = PackedBlock.from_json(self.text, size, self.lines)
        return exclude(block, budget, encoding=encoding, chats=chats, facts=facts)
