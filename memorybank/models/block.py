"""The stored block, and the history of its lines: when each was added and when it was removed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Min, Q

from memorybank import conf
from memorybank.core.memory_line import MemoryLine, PackedBlock
from memorybank.language import tokens

from .bank import Bank

#: The fields that may change while a line stays in the block.
SOURCES = ["facts", "chats"]


class BlockLineVersionQuerySet(models.QuerySet["BlockLineVersion"]):
    def note(self, bank: Bank, block: PackedBlock, now: datetime) -> None:
        """Record that the block has these lines from ``now`` on. The caller holds the bank's lock."""
        standing = {line.key: line for line in self.filter(bank=bank, until=None)}
        new, changed = [], []
        for line in block.lines:
            row = BlockLineVersion.of(bank, line, now)
            if known := standing.pop(row.key, None):
                if (known.facts, known.chats) != (row.facts, row.chats):
                    known.facts, known.chats = row.facts, row.chats
                    changed.append(known)
            else:
                new.append(row)
        self.bulk_create(new)
        self.bulk_update(changed, SOURCES, batch_size=100)
        if standing:
            self.filter(pk__in=[line.pk for line in standing.values()]).update(until=now)
            self.filter(bank=bank, until__lt=now - timedelta(days=conf.current().history_days)).delete()

    def drop(self, bank: Bank, *, chats: Collection[str] = (), standing: bool = False) -> int:
        """Delete former lines with these chats, of which something was erased, as sources; return how many.

        Every former line of a digest is deleted, too, because its writer may have read the erased turns. Lines that are
        still in the block were checked word by word; with ``standing`` they were not, and are deleted like former
        lines of these chats. The caller holds the bank's lock.
        """
        of_chats = Q(pk__in=self._of(bank, chats))
        left = Q(until__isnull=False) & (of_chats | Q(digest=True))
        return self.filter(left | of_chats if standing else left, bank=bank).delete()[0]

    def _of(self, bank: Bank, chats: Collection[str]) -> list[int]:
        named = set(chats)
        rows = self.filter(bank=bank).values_list("pk", "chats")
        return [pk for pk, keys in rows if not named.isdisjoint(keys)]

    def kept_since(self, bank: Bank, now: datetime) -> datetime | None:
        """Since when the history is complete, except for erased lines; None if there is none yet."""
        first: datetime | None = self.filter(bank=bank).aggregate(first=Min("since"))["first"]
        return first and max(first, now - timedelta(days=conf.current().history_days))

    def at(self, bank: Bank, moment: datetime) -> BlockLineVersionQuerySet:
        """The lines of the block at a moment, in its order."""
        ended = Q(until__isnull=False, until__lte=moment)
        return self.filter(bank=bank, since__lte=moment).exclude(ended).in_order()

    def in_order(self) -> BlockLineVersionQuerySet:
        """In the order of a block: pinned lines first, then the oldest period."""
        return self.order_by("-pinned", "-tier", "period_start", "said_at", "pk")


class BlockLineVersion(models.Model):
    """A line of the block from ``since`` until ``until``; empty: it is still there."""

    # No index of its own: the one below begins with the bank.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="line_versions", db_index=False)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    text = models.TextField()
    speaker = models.CharField(max_length=200)
    label = models.CharField(max_length=100, help_text="The date at the beginning of its paragraph.")
    period_start = models.DateField()
    tier = models.PositiveSmallIntegerField()
    pinned = models.BooleanField()
    digest = models.BooleanField(help_text="A digest's line: its writer had also read turns that it does not cite.")
    said_at = models.DateTimeField()
    facts = models.JSONField(help_text="Ids of the facts that it stood for or restated.")
    chats = models.JSONField(help_text="Keys of the chats that it quoted.")

    objects: ClassVar[BlockLineVersionQuerySet] = BlockLineVersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read whenever a block is stored (its current lines), and for the block at a moment.
            models.Index(name="line_version_until", fields=["bank", "until"]),
            # Read for the lines that a change added.
            models.Index(name="line_version_since", fields=["bank", "since"]),
        ]

    def __str__(self) -> str:
        return f"line {self.pk} of a block"

    @classmethod
    def of(cls, bank: Bank, line: MemoryLine, now: datetime) -> BlockLineVersion:
        """A new line of a block, unsaved."""
        fields: dict[str, Any] = {name: getattr(line, name) for name in LINE_FIELDS}
        fields |= {"facts": [*line.facts, *sorted(line.restates)], "chats": list(line.chats)}
        return cls(bank=bank, since=now, digest=bool(line.restates), **fields)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for a line that is unchanged in the next block. The time is not compared: each new turn changes it."""
        return tuple(getattr(self, name) for name in LINE_FIELDS if name not in (*SOURCES, "said_at"))


#: The columns with the name of a line's field.
LINE_FIELDS = tuple(
    column.name for column in BlockLineVersion._meta.concrete_fields if column.name in MemoryLine._fields
)


class StoredBlockQuerySet(models.QuerySet["StoredBlock"]):
    def current(self, bank_id: int) -> StoredBlock | None:
        """The newest block, for chats that keep no older one."""
        return self.filter(bank=bank_id).order_by("-version").first()

    def current_version(self, bank_id: int) -> int:
        """The version of the newest block; 0: there is none."""
        newest = self.filter(bank=bank_id).order_by("-version").values_list("version", flat=True)
        return newest.first() or 0

    def store(self, bank: Bank, block: PackedBlock, now: datetime) -> bool:
        """Store the block rendered from ``bank``, unless the bank was erased from or deleted, or has a newer block.

        Older blocks stay while an active chat keeps them.
        """
        with transaction.atomic():
            held = Bank.objects.select_for_update().filter(pk=bank.pk, epoch=bank.epoch).exists()
            if not held or self.current_version(bank.pk) >= bank.version:
                return False
            stored = self.add(bank.pk, bank.version, block, now)
            BlockLineVersion.objects.note(bank, block, now)
            warm = now - timedelta(minutes=conf.current().block_keep_minutes)
            kept = self.filter(bank=bank, kept_by__last_output_at__gte=warm).values("pk")
            self.filter(bank=bank).exclude(pk=stored.pk).exclude(pk__in=kept).delete()
        return True

    def drop(self, bank: Bank, chats: Collection[str]) -> None:
        """Remove the lines of these chats from the stored blocks, whose text is then laid out whenever it is read."""
        for stored in self.filter(bank=bank):
            block = stored.packed
            if (rest := block.dropping(set(chats))) is not block:
                stored.text, stored.tokens, stored.lines = rest.text, rest.tokens, rest.as_json()
                stored.save()

    def add(self, bank_id: int, version: int, block: PackedBlock, made_at: datetime | None) -> StoredBlock:
        """Store ``block`` as this version."""
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
    version = models.PositiveBigIntegerField(help_text="The version of the bank that was rendered.")
    made_at = models.DateTimeField(
        null=True, help_text="When it was rendered. Lines that were erased later are removed from it at once."
    )
    text = models.TextField(blank=True)
    tokens = models.PositiveIntegerField()
    encoding = models.CharField(max_length=20)
    lines = models.JSONField(help_text="Its lines and those in reserve, each by its fields; see MemoryLine.")

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

    @property
    def packed(self) -> PackedBlock:
        """The block with its lines, counted in the current encoding."""
        encoding = conf.current().encoding
        # otherwise the setting has just been changed
        size = self.tokens if encoding == self.encoding else tokens.count(self.text, encoding)
        return PackedBlock.from_json(self.text, size, self.lines)
