"""Repeat erasures on a database restored from an older backup, using their receipts, which hold only hashes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest

from memorybank.clock import PRESENT, at_present
from memorybank.erasure.erase import erase, erase_everything
from memorybank.erasure.scope import ErasureKind, Target, subject_of
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Erasure, Output
from memorybank.models.chat import OutputQuerySet
from memorybank.models.privacy import Subject
from memorybank.safety.via import person_in

#: Hash of a target → the target as ``erase`` takes it, and its turns.
Targets = Mapping[str, tuple[Target, OutputQuerySet]]
#: The fields of an exported receipt; ``at`` is a ``datetime``.
RECEIPT_FIELDS = ("kind", "subject", "asked_by", "epoch", "counts", "at", "until")


@dataclass(slots=True)
class ReplayReport:
    """Counts of a replay: receipts already known, receipts added, erasures repeated, and turns erased."""

    known: int = 0
    taken: int = 0
    erased: int = 0
    turns: int = 0
    #: Ids of the receipts that were not repeated, because their target has turns from after the receipt.
    undecided: list[int] = field(default_factory=list)


def receipts(bank: Bank) -> Iterator[dict[str, Any]]:
    """The receipts of a bank, oldest first, as :func:`replay` reads them."""
    yield from bank.erasures.order_by("pk").values(*RECEIPT_FIELDS)


@at_present
def replay(bank: Bank, rows: Sequence[Mapping[str, Any]], *, actor: str, now: datetime = PRESENT) -> ReplayReport:
    """Add the receipts that the bank lacks, which blocks re-import, and erase their targets again.

    A target that has turns from after its receipt is not erased; the receipt is reported as undecided.
    """
    report, missing = ReplayReport(), _missing(bank, rows)
    report.known, report.taken = len(rows) - len(missing), len(missing)
    with transaction.atomic():
        for row in missing:
            Erasure.objects.create(bank=bank, **{name: row.get(name) for name in RECEIPT_FIELDS})
        newest = max((row["epoch"] for row in missing), default=0)
        # A new epoch makes running jobs discard their results.
        Bank.objects.filter(pk=bank.pk).update(epoch=Greatest(F("epoch"), Value(newest)) + int(bool(missing)))
    bank.refresh_from_db()
    targets = _targets(bank) if missing else {}
    for row in missing:
        _repeat(bank, row, targets, report, actor=actor, now=now)
    return report


def _missing(bank: Bank, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    known = set(bank.erasures.values_list("subject", "at"))
    return [row for row in rows if (row["subject"], row["at"]) not in known]


def _repeat(
    bank: Bank, row: Mapping[str, Any], targets: Targets, report: ReplayReport, *, actor: str, now: datetime
) -> None:
    """Erase a receipt's target if it exists again. Skips lines, because their turns have receipts of their own."""
    target, turns = targets.get(row["subject"], ("", Output.objects.none()))
    until = row.get("until") or row["at"]
    if any(at > until for at in turns.values_list("created_at", flat=True)):
        report.undecided.append(Erasure.objects.get(bank=bank, subject=row["subject"], at=row["at"]).pk)
        return
    try:
        if row["kind"] == ErasureKind.EVERYTHING and turns.exists():
            receipt = erase_everything(bank, actor=actor, now=now)
        elif row["subject"] in targets and row["kind"] != ErasureKind.EVERYTHING:
            named: dict[str, Any] = {row["kind"]: target}
            receipt = erase(bank, **named, actor=actor, now=now)
        else:
            return
    except InvalidInput:  # already erased because of another receipt
        return
    report.erased += 1
    report.turns += receipt.counts.get("turns", 0) + receipt.counts.get("halves_of_turns", 0)


def _targets(bank: Bank) -> Targets:
    """Every possible target of an erasure in the bank, by its hashes."""
    return {
        digest: (target, turns)
        for subject, target, turns in _subjects(bank)
        for digest in Erasure.digests(bank, subject)
    }


def _subjects(bank: Bank) -> Iterator[tuple[Subject, Target, OutputQuerySet]]:
    outputs = Output.objects.filter(chat__bank=bank)
    yield (ErasureKind.EVERYTHING,), "", outputs
    for chat in bank.chats.only("key"):
        yield (ErasureKind.CHAT, chat.key), chat.key, outputs.filter(chat=chat)
    people = outputs.values_list("author", "said_by", "answered_by").order_by().distinct()
    names = {name for row in people for name in row}
    for name in (names | set(map(person_in, names))) - {""}:
        yield (ErasureKind.AUTHOR, name), name, outputs.of_person(name)
    for output in outputs.select_related("chat").only("key", "chat__key"):
        yield subject_of(output), output.pk, outputs.filter(pk=output.pk)
