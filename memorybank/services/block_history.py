"""The history of a bank's block: its lines at a given time, and the times of its changes."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import BigIntegerField, Exists, OuterRef, Q
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, BlockLineVersion, Event, Output
from memorybank.models.block import BlockLineVersionQuerySet


def block_lines_at(bank: Bank, moment: datetime) -> BlockLineVersionQuerySet:
    """The lines of the block at a given time, in block order, without those of chats that are private now."""
    return BlockLineVersion.objects.at(bank, moment)


def block_lines_changed(bank: Bank, moments: Collection[datetime]) -> BlockLineVersionQuerySet:
    """The lines that were added or removed at exactly these times, without those of chats that are private now."""
    return BlockLineVersion.objects.readable().filter(Q(since__in=moments) | Q(until__in=moments), bank=bank)


def block_lines_missing(bank: Bank, moment: datetime, to: datetime | None = None) -> bool:
    """Whether the history may lack lines of a given time, or of the time ``to``.

    Those of erased and of replaced messages are deleted; those of chats that are private now are withheld.
    """
    if to and to != moment and block_lines_missing(bank, to):
        return True
    ended = Q(until__isnull=False, until__lt=moment)
    withheld = bank.line_versions.filter(since__lte=moment).exclude(withheld_for=[]).exclude(ended)
    return _erased_since(bank, moment) or withheld.exists() or _replaced_since(bank, moment)


def _erased_since(bank: Bank, moment: datetime) -> bool:
    """Whether an erasure, an opt-out or a chat that is for nobody followed: they delete lines of the history."""
    deleting = Q(action__in=(Event.Action.ERASE, Event.Action.OPT_OUT))
    for_nobody = Q(action=Event.Action.PRIVATE, detail__readers__isnull=True)
    return bank.events.filter(deleting | for_nobody, at__gt=moment).exists()


def _replaced_since(bank: Bank, moment: datetime) -> bool:
    """Whether a message of a public chat from before ``moment`` got a new version afterwards."""
    outputs = Output.objects.filter(chat__bank=bank, chat__private=False)
    first_replaced = Cast(KeyTransform("0", "replaces"), BigIntegerField())  # the oldest of those that it replaces
    newer = outputs.filter(created_at__gt=moment, status=Output.Status.OK).annotate(first_replaced=first_replaced)
    older = Output.objects.filter(pk=OuterRef("first_replaced"), created_at__lte=moment)
    return newer.filter(Exists(older)).exists()


def block_changes(bank: Bank, limit: int, *, before: datetime | None = None) -> list[datetime]:
    """The latest times, ``before`` a given one, at which lines came or went; at most ``limit``, newest first."""
    lines = BlockLineVersion.objects.readable().filter(bank=bank)
    moments = set[datetime]()
    for column in ("since", "until"):
        known = lines.filter(**({f"{column}__lt": before} if before else {f"{column}__isnull": False}))
        moments.update(known.order_by(f"-{column}").values_list(column, flat=True).distinct()[:limit])
    return sorted(moments, reverse=True)[:limit]


def block_known_from(bank: Bank) -> datetime | None:
    """The time at which the oldest known line was added; None if no line is known."""
    return BlockLineVersion.objects.known_from(bank)


@at_present
def block_kept_since(bank: Bank, *, now: datetime = PRESENT) -> datetime | None:
    """The time since which the history is complete, apart from erased lines; None if there is no history yet."""
    return BlockLineVersion.objects.kept_since(bank, now)
