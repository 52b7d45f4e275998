"""Tombstones: refuse to import outputs that were erased."""

from collections.abc import Sequence

from memorybank.models import Bank, Erasure
from memorybank.models.privacy import Subject
from memorybank.new_output import NewOutput
from memorybank.safety.via import person_in


def are_erased(bank: Bank, many: Sequence[NewOutput]) -> list[bool]:
    """Whether an erasure covers each output: neither new nor running imports may restore erased turns."""
    subjects = [_subjects(new) for new in many] if bank.epoch else []
    until = Erasure.objects.until(bank, {subject for names in subjects for subject in names})
    if not until:
        return [False] * len(many)
    return [
        any(name in until and (_is_same_turn(new, name) or new.created_at <= until[name]) for name in names)
        for new, names in zip(many, subjects, strict=True)
    ]


def _is_same_turn(new: NewOutput, erased: Subject) -> bool:
    """Whether the caller's own id says that this is the erased turn, whatever its time is said to be."""
    return erased[0] == Erasure.Kind.OUTPUT and not new.key_is_fingerprint


def _subjects(new: NewOutput) -> list[Subject]:
    """Every subject of an erasure that would cover this output."""
    kind = Erasure.Kind
    people = {new.author, person_in(new.author), new.said_by, new.answered_by} - {""}
    named = [(kind.EVERYTHING,), (kind.CHAT, new.chat_key), *((kind.AUTHOR, name) for name in people)]
    return [*named, (kind.OUTPUT, new.chat_key, new.key)] if new.key else named
