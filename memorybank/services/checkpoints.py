"""Queries of checkpoints, which replace a chat's earlier turns in its prompt, and of a compaction's progress."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef

from memorybank.clock import PRESENT, at_present
from memorybank.models import Chat, Checkpoint, Compaction


def newest_checkpoint(chat: Chat, *, before_sequence: int | None = None) -> Checkpoint | None:
    """A chat's newest checkpoint; with ``before_sequence``, the newest one that ends before the turn with it."""
    return Checkpoint.objects.newest(chat.pk, before_sequence)


def checkpoints_after(chat: Chat, sequences: Collection[int]) -> dict[int, Checkpoint]:
    """The checkpoints whose last turn is in ``sequences``, by that turn; ``is_over`` is true if a later one exists."""
    own = chat.checkpoints.all()
    later = own.filter(through__gt=OuterRef("through"))
    return {
        checkpoint.through: checkpoint
        for checkpoint in own.filter(through__in=sequences).annotate(is_over=Exists(later))
    }


def compaction_of(chat: Chat) -> Compaction | None:
    """The progress or the outcome of a chat's latest compaction; None if the chat was never compacted."""
    return Compaction.objects.filter(chat=chat).first()


@at_present
def is_compacting(chat: Chat, *, now: datetime = PRESENT) -> bool:
    return Compaction.objects.running(chat.pk, now) is not None


@at_present
def may_compact(chat: Chat, *, now: datetime = PRESENT) -> bool:
    """Whether a compaction may start automatically: not before ``retry_at`` after a failed one."""
    return Compaction.objects.may_begin(chat.pk, now)
