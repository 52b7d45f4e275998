"""Tombstones: refuse to import outputs that were erased."""

from collections.abc import Sequence

from memorybank.models import Bank, Erasure
from memorybank.models.privacy import Subject
from memorybank.new_output import NewOutput


def not_erased(bank: Bank, many: Sequence[NewOutput]) -> list[NewOutput]:
    """The outputs that no erasure covers, so that neither new nor running imports restore erased turns."""
    subjects = [_subjects(new) for new in many] if bank.epoch else []
    until = Erasure.objects.until(bank, {subject for names in subjects for subject in names})
    if not until:
        return list(many)
    pairs = zip(many, subjects, strict=True)
    return [new for new, names in pairs if not any(name in until and new.created_at <= until[name] for name in names)]


def _subjects(new: NewOutput) -> list[Subject]:
    """Every subject of an erasure that would cover this output."""
    kind = Erasure.Kind
    people = {name for name in (new.author, new.said_by, new.answered_by) if name}
    named = [(kind.EVERYTHING,), (kind.CHAT, new.chat_key), *((kind.AUTHOR, name) for name in people)]
    return [*named, (kind.OUTPUT, new.chat_key, new.key)] if new.key else named
