"""What stands in a chat's own prompt for its earlier turns, and how far somebody is with making it."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef

from memorybank.clock import PRESENT, at_present
from memorybank.models import Chat, Checkpoint, Compaction


def newest_checkpoint(chat: Chat, *, before: int | None = None) -> Checkpoint | None:
    """The one that stands in a chat's prompt; with ``before`` (a sequence) as it would for that turn."""
    return Checkpoint.objects.newest(chat.pk, before)


def checkpoints_after(chat: Chat, sequences: Collection[int]) -> dict[int, Checkpoint]:
    """Those that end with a turn of one of these sequences, by it; ``is_over`` once a later one took their place."""
    own = chat.checkpoints.all()
    later = own.filter(through__gt=OuterRef("through"))
    return {made.through: made for made in own.filter(through__in=sequences).annotate(is_over=Exists(later))}


def compaction_of(chat: Chat) -> Compaction | None:
    """How far somebody is with shortening a chat, or how the last time ended; None: nobody ever tried."""
    return Compaction.objects.filter(chat=chat).first()


@at_present
def is_compacting(chat: Chat, *, now: datetime = PRESENT) -> bool:
    """Whether somebody shortens a chat."""
    return Compaction.objects.running(chat.pk, now) is not None


@at_present
def may_compact(chat: Chat, *, now: datetime = PRESENT) -> bool:
    """Whether it is worth trying unasked: not for a while after it has failed."""
    return Compaction.objects.may_begin(chat.pk, now)
