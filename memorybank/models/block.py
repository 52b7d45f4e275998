"""The stored block, and the history of its lines: when each was added and when it was removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Min, Q

from memorybank import conf
from memorybank.core.memory_line import MemoryLine, PackedBlock
from memorybank.language import tokens

from .bank import Bank

#: The fields that may change while a line stays in the block.
SOURCE_FIELDS = ["facts", "chats"]
#: Lines updated in one query, because databases limit the number of query parameters.
LINES_PER_UPDATE = 10_000


class BlockLineVersionQuerySet(models.QuerySet["BlockLineVersion"]):
    def record_lines(self, bank: Bank, block: PackedBlock, now: datetime) -> None:
        """Record the lines of the block as of ``now`` and end all others. The caller holds the bank's lock."""
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
        self.bulk_update(changed, SOURCE_FIELDS, batch_size=100)
        if standing:
            self.filter(pk__in=[line.pk for line in standing.values()]).update(until=now)
            self.filter(bank=bank, until__lt=now - timedelta(days=conf.current().history_days)).delete()

    def former(self) -> BlockLineVersionQuerySet:
        """Lines that are no longer in the block."""
        return self.filter(until__isnull=False)

    def readable(self) -> BlockLineVersionQuerySet:
        """Lines that everybody in the project may read: not those that wait until a private chat is shared again."""
        return self.filter(withheld_for=[])

    def of_digests(self, periods: Iterable[tuple[int, date]]) -> BlockLineVersionQuerySet:
        """The lines that a model wrote as digests of these periods: pairs of tier and first day."""
        starts = defaultdict[int, set[date]](set)
        for tier, start in periods:
            starts[tier].add(start)
        within = (Q(tier=tier, period_start__in=days) for tier, days in starts.items())
        return self.filter(reduce(or_, within), digest=True) if starts else self.none()

    def resting_on(self, *, chats: Collection[str] = (), facts: Collection[int] = ()) -> BlockLineVersionQuerySet:
        """The lines that cite one of these chats or facts, or that are withheld for one of these chats."""
        keys, ids = set(chats), set(facts)
        rows = self.values_list("pk", "chats", "withheld_for", "facts")
        lines = [pk for pk, own, held, cited in rows if keys.intersection([*own, *held]) or ids.intersection(cited)]
        return self.filter(pk__in=lines)

    def withhold(self, chat: str) -> None:
        """Show these lines to nobody until the chat with this key is shared again."""
        rows = self.values_list("pk", "withheld_for")
        self._withhold({pk: sorted([*held, chat]) for pk, held in rows if chat not in held})

    def release(self, chat: str) -> None:
        """Show these lines again, unless they are withheld for another private chat, too."""
        rows = self.exclude(withheld_for=[]).values_list("pk", "withheld_for")
        self._withhold({pk: [key for key in held if key != chat] for pk, held in rows if chat in held})

    def _withhold(self, chats_of: Mapping[int, Sequence[str]]) -> None:
        lines = defaultdict[tuple[str, ...], list[int]](list)
        for pk, chats in chats_of.items():
            lines[tuple(chats)].append(pk)
        for chats, ids in lines.items():
            for start in range(0, len(ids), LINES_PER_UPDATE):
                part = ids[start : start + LINES_PER_UPDATE]
                self.model._default_manager.filter(pk__in=part).update(withheld_for=list(chats))

    def known_from(self, bank: Bank) -> datetime | None:
        """The time at which the oldest readable line was added; None if there is none."""
        first: datetime | None = self.readable().filter(bank=bank).aggregate(first=Min("since"))["first"]
        return first

    def kept_since(self, bank: Bank, now: datetime) -> datetime | None:
        """The time since which the history is complete, apart from erased lines; None if there is no history."""
        first = self.known_from(bank)
        return first and max(first, now - timedelta(days=conf.current().history_days))

    def at(self, bank: Bank, moment: datetime) -> BlockLineVersionQuerySet:
        """The readable lines that were in the block at a moment, in block order."""
        ended = Q(until__isnull=False, until__lte=moment)
        return self.readable().filter(bank=bank, since__lte=moment).exclude(ended).in_order()

    def in_order(self) -> BlockLineVersionQuerySet:
        """In block order: pinned lines first, then by tier (coarsest first) and period (oldest first)."""
        return self.order_by("-pinned", "-tier", "period_start", "said_at", "pk")


class BlockLineVersion(models.Model):
    """A line that was in the block from ``since`` until ``until``; NULL if it is still there."""

    # No separate index: the indexes below start with this column.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="line_versions", db_index=False)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    text = models.TextField()
    speaker = models.CharField(max_length=200)
    label = models.CharField(max_length=100, help_text="The date at the beginning of its paragraph.")
    period_start = models.DateField()
    tier = models.PositiveSmallIntegerField()
    pinned = models.BooleanField()
    is_report = models.BooleanField(default=False, help_text="It was told in its speaker's name and in quotes.")
    digest = models.BooleanField(help_text="A digest's line: its writer had also read messages that it does not cite.")
    said_at = models.DateTimeField()
    facts = models.JSONField(help_text="Ids of the facts that it stood for or restated.")
    chats = models.JSONField(help_text="Keys of the chats that it quoted.")
    withheld_for = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        help_text="Keys of private chats: nobody reads the line until all of them are shared again.",
    )

    objects: ClassVar[BlockLineVersionQuerySet] = BlockLineVersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read whenever a block is stored (current lines), and to show the block at a past moment.
            models.Index(name="line_version_until", fields=["bank", "until"]),
            # Read to show the lines that a change added.
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
        """Identifies a line across blocks. It excludes ``said_at``, which changes with each new turn."""
        return tuple(getattr(self, name) for name in LINE_FIELDS if name not in (*SOURCE_FIELDS, "said_at"))


#: Columns that have the same name as a field of ``MemoryLine``.
LINE_FIELDS = tuple(
    column.name for column in BlockLineVersion._meta.concrete_fields if column.name in MemoryLine._fields
)


class StoredBlockQuerySet(models.QuerySet["StoredBlock"]):
    def current(self, bank_id: int) -> StoredBlock | None:
        """The newest block, or None; active chats may keep an older one."""
        return self.filter(bank=bank_id).order_by("-version").first()

    def current_version(self, bank_id: int) -> int:
        """The version of the newest block; 0 if there is none."""
        newest = self.filter(bank=bank_id).order_by("-version").values_list("version", flat=True)
        return newest.first() or 0

    def store(self, bank: Bank, block: PackedBlock, now: datetime) -> bool:
        """Store the block rendered from ``bank``; return whether it was stored.

        It is not stored if something of the bank was erased meanwhile, or the bank was deleted or has a newer block.
        Older blocks are deleted, unless an active chat keeps them.
        """
        with transaction.atomic():
            held = Bank.objects.select_for_update().filter(pk=bank.pk, epoch=bank.epoch).exists()
            if not held or self.current_version(bank.pk) >= bank.version:
                return False
            stored = self.add(bank.pk, bank.version, block, now)
            BlockLineVersion.objects.record_lines(bank, block, now)
            warm = now - timedelta(minutes=conf.current().block_keep_minutes)
            kept = self.filter(bank=bank, kept_by__last_output_at__gte=warm).values("pk")
            self.filter(bank=bank).exclude(pk=stored.pk).exclude(pk__in=kept).delete()
        return True

    def drop(self, bank: Bank, chats: Collection[str]) -> None:
        """Remove these chats' lines from stored blocks; the text of a changed block is then rendered on each read."""
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
            # Prevents two workers from storing the same version. The index finds a bank's newest block.
            models.UniqueConstraint(name="block_unique_in_version", fields=["bank", "version"]),
        ]

    def __str__(self) -> str:
        return f"block {self.version} of bank {self.bank_id}"

    @staticmethod
    def current_tokens(bank: str) -> models.Subquery:
        """Subquery: tokens of the current block, for rows whose column ``bank`` is the bank's id."""
        newest = StoredBlock.objects.filter(bank=models.OuterRef(bank)).order_by("-version")
        return models.Subquery(newest.values("tokens")[:1])

    @property
    def packed(self) -> PackedBlock:
        """The block with its lines, and its tokens counted in the current encoding."""
        encoding = conf.current().encoding
        # recount if the encoding setting has changed since the block was stored
        size = self.tokens if encoding == self.encoding else tokens.count(self.text, encoding)
        return PackedBlock.from_json(self.text, size, self.lines)
