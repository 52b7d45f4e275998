"""What may come in: nothing that was erased, whoever sends it again."""

from collections.abc import Sequence

from memorybank.models import Bank, Erasure
from memorybank.models.erasure import Subject
from memorybank.new_output import NewOutput


def not_erased(bank: Bank, many: Sequence[NewOutput]) -> list[NewOutput]:
    """Those that say nothing which was erased: a second import, or one that was running, brings nothing back."""
    of_each = [_subjects(new) for new in many] if bank.epoch else []
    until = Erasure.objects.until(bank, {subject for subjects in of_each for subject in subjects})
    if not until:
        return list(many)
    pairs = zip(many, of_each, strict=True)
    return [new for new, said in pairs if not any(each in until and new.created_at <= until[each] for each in said)]


def _subjects(new: NewOutput) -> list[Subject]:
    """All that an erasure may have named it by."""
    kind = Erasure.Kind
    people = {name for name in (new.author, new.said_by, new.answered_by) if name}
    named = [(kind.EVERYTHING,), (kind.CHAT, new.chat_key), *((kind.AUTHOR, name) for name in people)]
    return [*named, (kind.OUTPUT, new.chat_key, new.key)] if new.key else named
