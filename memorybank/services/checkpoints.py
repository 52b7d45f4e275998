"""Checkpoints as rows: what replaces a chat's earlier turns in its prompt, and the progress of a compaction."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef

from memorybank.clock import PRESENT, at_present
from memorybank.models import Chat, Checkpoint, Compaction


def newest_checkpoint(chat: Chat, *, before: int | None = None) -> Checkpoint | None:
    """The checkpoint in a chat's prompt; with ``before`` (an output's id) as it was for that turn."""
    return Checkpoint.objects.newest(chat.pk, before)


def checkpoints_after(chat: Chat, sequences: Collection[int]) -> dict[int, Checkpoint]:
    """The checkpoints that end with one of these turns, by that turn; ``is_over`` if a later one has replaced it."""
    own = chat.checkpoints.all()
    later = own.filter(through__gt=OuterRef("through"))
    return {
        checkpoint.through: checkpoint
        for checkpoint in own.filter(through__in=sequences).annotate(is_over=Exists(later))
    }


def compaction_of(chat: Chat) -> Compaction | None:
    """The progress of a chat's compaction, or how the last one ended; None: there was none."""
    return Compaction.objects.filter(chat=chat).first()


@at_present
def is_compacting(chat: Chat, *, now: datetime = PRESENT) -> bool:
    return Compaction.objects.running(chat.pk, now) is not None


@at_present
def may_compact(chat: Chat, *, now: datetime = PRESENT) -> bool:
    """Whether to start a compaction unasked: not for a while after one has failed."""
    return Compaction.objects.may_begin(chat.pk, now)
