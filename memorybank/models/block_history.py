"""Versions of the block's lines: each with the times from which and until which it stood there."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models import Min, Q

from memorybank import conf
from memorybank.core.packing.memory_line import MemoryLine, PackedBlock

from .bank import Bank

#: The fields that may change while a line stands.
SOURCES = ["facts", "chats"]


class BlockLineVersionQuerySet(models.QuerySet["BlockLineVersion"]):
    """Sets of lines that stood in blocks."""

    def note(self, bank: Bank, block: PackedBlock, now: datetime) -> None:
        """From ``now`` on the block says this: lines that left it end, new ones begin. The caller holds the bank."""
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

    def drop(self, bank: Bank, *, chats: Collection[str] = ()) -> int:
        """Delete what rests on these chats, of which something was erased; how many lines. The caller holds the bank.

        And every line that was written for a digest and has left the block: who wrote it may have read what is erased.
        What still stands in the block was judged word by word, and rests on these chats no more if that is erased.
        """
        gone = Q(digest=True) | Q(pk__in=self._of(bank, chats))
        return self.filter(gone, bank=bank, until__isnull=False).delete()[0]

    def _of(self, bank: Bank, chats: Collection[str]) -> list[int]:
        named = set(chats)
        rows = self.filter(bank=bank).values_list("pk", "chats")
        return [pk for pk, keys in rows if not named.isdisjoint(keys)]

    def kept_since(self, bank: Bank, now: datetime) -> datetime | None:
        """From when on all that was said is known, but for what was erased; None: nothing is known yet."""
        first: datetime | None = self.filter(bank=bank).aggregate(first=Min("since"))["first"]
        return first and max(first, now - timedelta(days=conf.current().history_days))

    def at(self, bank: Bank, moment: datetime) -> BlockLineVersionQuerySet:
        """What the block said at a moment, in its order."""
        ended = Q(until__isnull=False, until__lte=moment)
        return self.filter(bank=bank, since__lte=moment).exclude(ended).in_order()

    def in_order(self) -> BlockLineVersionQuerySet:
        """As a block has them: pinned lines first, the oldest period first."""
        return self.order_by("-pinned", "-tier", "period_start", "said_at", "pk")


class BlockLineVersion(models.Model):
    """A line of the block, from when until when (empty: it stands there still)."""

    # Its index is the one below, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="line_versions", db_index=False)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    text = models.TextField()
    speaker = models.CharField(max_length=200)
    label = models.CharField(max_length=100, help_text="The date that its paragraph opened with.")
    period_start = models.DateField()
    tier = models.PositiveSmallIntegerField()
    pinned = models.BooleanField()
    digest = models.BooleanField(help_text="Written for a digest, with others' words in sight.")
    said_at = models.DateTimeField()
    facts = models.JSONField(help_text="Ids of the facts that it stood for, and of those that it restated.")
    chats = models.JSONField(help_text="Keys of the chats whose words it said.")

    objects: ClassVar[BlockLineVersionQuerySet] = BlockLineVersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read whenever a block is stored (what stands), and for what it said at a moment.
            models.Index(name="line_version_until", fields=["bank", "until"]),
            # Read for what a change brought into the block.
            models.Index(name="line_version_since", fields=["bank", "since"]),
        ]

    def __str__(self) -> str:
        return f"line {self.pk} of a block"

    @classmethod
    def of(cls, bank: Bank, line: MemoryLine, now: datetime) -> BlockLineVersion:
        """A line of a block that is new in it; not yet saved."""
        fields: dict[str, Any] = {name: getattr(line, name) for name in LINE_FIELDS}
        fields |= {"facts": [*line.facts, *sorted(line.restates)], "chats": list(line.chats)}
        return cls(bank=bank, since=now, digest=bool(line.restates), **fields)

    @property
    def key(self) -> tuple[object, ...]:
        """By which it is recognised in the next block: a line that says or stands otherwise is another version.

        But not by its time: a chat that goes on moves the time of all its lines.
        """
        return tuple(getattr(self, name) for name in LINE_FIELDS if name not in (*SOURCES, "said_at"))


#: The columns that are fields of a line under the same name.
LINE_FIELDS = tuple(
    column.name for column in BlockLineVersion._meta.concrete_fields if column.name in MemoryLine._fields
)
