"""Erasing a chat, an author, a turn or everything, with all that was made of it; and the receipt of it.

One transaction takes everything out and raises the epoch, so that nothing which was under way can bring it back. What
others said stays; where a model wrote the lines, it is asked anew by the next sweep.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from math import ceil
from operator import or_
from typing import Self

from django.db import transaction
from django.db.models import F, Q, TextField
from django.db.models.functions import Cast

from memorybank import conf, llm
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import transcript
from memorybank.data_inventory import TABLES, Erasing
from memorybank.erasure import cascade, requests
from memorybank.erasure.cascade import Shown
from memorybank.erasure.receipts import ErasureReceipt, count_names
from memorybank.erasure.scope import Doomed, Kind, Named, meant
from memorybank.exceptions import InvalidInput
from memorybank.indexing import block_writer, document_writer
from memorybank.language import tokens
from memorybank.models import (
    CARRIED,
    Bank,
    Embedding,
    Entry,
    Erasure,
    ErasureRequest,
    Event,
    MaskedValue,
    Output,
    StoredBlock,
)
from memorybank.safety.redaction import Masker

#: Values looked for in one query.
AT_ONCE = 50
#: What is rewritten of a turn of which a half is erased.
HALF_FIELDS = next(table.words for table in TABLES if table.model is Output)


@at_present
def forget(
    bank: Bank,
    *,
    chat: str | None = None,
    author: str | None = None,
    output: int | Collection[int] | None = None,
    facts: Collection[int] | None = None,
    actor: str,
    dry_run: bool = False,
    now: datetime = PRESENT,
) -> ErasureReceipt:
    """Erase one chat, all that one author said, or outputs, with all that was made of it; the receipt.

    Or, by ``facts``, a line: all outputs that they rest on, whoever said them. With ``dry_run`` nothing changes, and
    the receipt says what would go. Raises :class:`InvalidInput` if nothing is known by that name, or not one thing is
    named.
    """
    what = {Kind.CHAT: chat, Kind.AUTHOR: author, Kind.OUTPUT: output, Kind.LINE: facts}
    given = [(kind, named) for kind, named in what.items() if named is not None]
    if len(given) != 1:
        raise InvalidInput("Name one of chat, author, output and facts.")
    return _forget(bank, *given[0], actor=actor, now=now, dry_run=dry_run)


@at_present
def clear(bank: Bank, *, actor: str, dry_run: bool = False, now: datetime = PRESENT) -> ErasureReceipt:
    """Erase every chat of a bank with all its memory; what was said until now is not taken in again."""
    return _forget(bank, Kind.EVERYTHING, "", actor=actor, now=now, dry_run=dry_run)


def _forget(bank: Bank, kind: Kind, named: Named, *, actor: str, now: datetime, dry_run: bool) -> ErasureReceipt:
    """Erase it, or do so and take it back at once (``dry_run``): the receipt of either is the same."""
    going = _Going.of(bank, kind, named)
    with transaction.atomic():
        receipt, chats = going.go(bank, actor=actor, now=now, dry_run=dry_run)
        transaction.set_rollback(dry_run)
    if not dry_run:
        bank.refresh_from_db()
        block_writer.refresh(bank.pk, now=now)
        for chat in chats:
            document_writer.follow(chat)
    return receipt


def give_way(
    bank: Bank, outputs: Collection[int], to: Output, answered: Callable[[], Output], *, now: datetime
) -> Output:
    """Erase outputs of the chat of ``to`` in the transaction in which that is ``answered``. What is gone is let be.

    They are in no prompt from then on; the next sweep makes anew what others contributed to.
    """
    known = Output.objects.filter(chat=to.chat_id, pk__in=outputs).exclude(pk=to.pk)
    there = set(known.values_list("pk", flat=True))
    going = _Going.of(bank, Kind.OUTPUT, there) if there else None
    with transaction.atomic():
        Bank.objects.lock(bank.pk)
        if going and (left := there.intersection(known.values_list("pk", flat=True))):
            replace(going, named=left).go(bank, actor=to.author, now=now)
        return answered()  # after it: a title that quoted them makes room for another


@at_present
def forget_asked(bank: Bank, *, request_id: int, actor: str, now: datetime = PRESENT) -> list[ErasureReceipt]:
    """Erase what somebody asked for in a chat; a receipt a turn. Raises ``ErasureRequest.DoesNotExist``."""
    request = bank.erasure_requests.get(pk=request_id)
    if not requests.close(request, ErasureRequest.State.ERASED, actor, now):
        return []
    there = list(Output.objects.filter(chat__bank=bank, pk__in=request.outputs).values_list("pk", flat=True))
    return [forget(bank, output=pk, actor=actor, now=now) for pk in there]


@dataclass(frozen=True, slots=True)
class _Going:
    """An erasure for which all is read that can be read before anybody has to wait for it."""

    kind: Kind
    named: Named
    shown: Shown
    told: Mapping[str, str]

    @classmethod
    def of(cls, bank: Bank, kind: Kind, named: Named) -> Self:
        """Raises :class:`InvalidInput` if there is no such thing."""
        shown, doomed = Shown.of(bank), meant(bank, kind, named)
        told = _masked(bank, doomed)
        cascade.read_ahead(shown, doomed.touched())
        return cls(kind, named, shown, told)

    def go(self, bank: Bank, *, actor: str, now: datetime, dry_run: bool = False) -> tuple[ErasureReceipt, list[int]]:
        """Take it out, in a transaction of the caller's: the receipt, and which of the chats concerned are left."""
        row, counts = Bank.objects.select_for_update().get(pk=bank.pk), Counter[str]()
        doomed = meant(row, self.kind, self.named)
        chats = _erase(row, doomed, self.shown, counts, now)
        _forget_masks(row, self.told, counts)
        if doomed.kind == Kind.EVERYTHING:
            for table in TABLES:
                if table.erasing is not Erasing.KEEP:
                    table.rows(row).delete()
        row.refresh_from_db()
        _count_work(row, counts)
        return _receipt(row, doomed, counts, actor=actor, now=now, dry_run=dry_run), chats


# --- taking it out --------------------------------------------------------------------------------------


def _erase(bank: Bank, doomed: Doomed, shown: Shown, counts: Counter[str], now: datetime) -> list[int]:
    """Take it out of every table; the chats that are left of those concerned. The caller holds ``bank``."""
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1, compress_at=now)
    counts["blocks"] = bank.blocks.count()
    counts["turns"], counts["halves_of_turns"] = doomed.outputs.count(), len(doomed.halves)
    touched = doomed.touched()
    counts["vectors"] = Embedding.objects.filter(document__chat__in=touched).count()
    gone: set[int] = set()
    if doomed.kind in (Kind.CHAT, Kind.EVERYTHING):
        named = bank.chats.filter(key=doomed.subject[1]) if doomed.kind == Kind.CHAT else bank.chats.all()
        for chat in named.select_for_update().order_by("pk"):
            gone |= cascade.unlearn_chat(bank, chat, counts)
        empty = named
    else:
        quoting = doomed.quoting()
        doomed.outputs.delete()
        Output.objects.bulk_update(doomed.halves, HALF_FIELDS)
        gone = cascade.unlearn(bank, touched, shown, counts)
        bank.chats.filter(pk__in=quoting).update(title="")
        empty = bank.chats.filter(pk__in=touched, outputs=None)
    counts["chats"] = empty.count()
    bank.refresh_from_db()
    StoredBlock.objects.invalidate(bank, facts=gone, now=now)
    cascade.drop(bank, touched, counts)
    empty.delete()
    if doomed.kind == Kind.EVERYTHING:
        Bank.objects.filter(pk=bank.pk).update(remembers_since=now)
    return list(bank.chats.filter(pk__in=touched).values_list("pk", flat=True))


def _masked(bank: Bank, doomed: Doomed) -> dict[str, str]:
    """The values that these outputs tell and that were masked there, with their kinds."""
    masker = Masker()
    before = Output.objects.filter(pk__in=[each.pk for each in doomed.halves])
    for outputs in (doomed.outputs.order_by("sequence"), before):
        for output in outputs.iterator(chunk_size=200):
            transcript.read([output], tz=bank.tz, masker=masker)
    return masker.learnt


def _forget_masks(bank: Bank, told: Mapping[str, str], counts: Counter[str]) -> None:
    """Values that nobody is left to have told are known no more."""
    values = sorted(told)
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        left = "\n".join(_mentioning(bank, some))
        counts["masked_values"] += MaskedValue.objects.unlearn(bank, [each for each in some if each not in left])


def _mentioning(bank: Bank, values: list[str]) -> Iterator[str]:
    """The turns that have one of the values in them, as they were written."""
    spelt = {*values, *(json.dumps(value)[1:-1] for value in values)}  # as JSON has it in a column
    names = ("question", "answer", "messages_text")
    saying = reduce(or_, (Q(**{f"{name}__contains": value}) for value in spelt for name in names))
    rows = Output.objects.filter(chat__bank=bank).annotate(messages_text=Cast("messages", TextField())).filter(saying)
    for question, answer, messages in rows.values_list("question", "answer", "messages").iterator():
        yield f"{question}\n{answer}\n{json.dumps(messages, ensure_ascii=False)}"


# --- what follows, and the receipt ------------------------------------------------------------------------


def _count_work(bank: Bank, counts: Counter[str]) -> None:
    """What is made anew, and about how many calls that takes."""
    stale = bank.entries.filter(stale=True)
    leaves, digests = list(stale.leaves()), list(stale.digests())
    above = stale.leaves().above().exclude(pk__in=[digest.pk for digest in digests])
    counts["summaries_to_mend"], counts["digests_to_mend"] = len(leaves), len(digests) + above.count()
    if llm.get("summary"):
        live = [*digests, *above]
        counts["calls"] = sum(map(_calls, leaves)) + sum(
            each.parent_id is None for each in live if each.method != CARRIED
        )


def _calls(leaf: Entry) -> int:
    now = conf.current()
    size = sum(tokens.count(f"{output.question}\n{output.answer}", now.encoding) for output in leaf.covered())
    return 1 if size <= now.chunk_from_tokens else ceil(size / now.chunk_tokens)


def _receipt(
    bank: Bank, doomed: Doomed, counts: Counter[str], *, actor: str, now: datetime, dry_run: bool
) -> ErasureReceipt:
    """The row that stays, and what the audit trail says of it: counts, never what was erased."""
    kept = {name: counts[name] for name in count_names() if counts[name]}
    subject = Erasure.digest(bank, doomed.subject)
    row = Erasure(
        bank=bank, kind=doomed.kind, subject=subject, asked_by=actor[:200], epoch=bank.epoch, counts=kept, at=now
    )
    if not dry_run:
        row.save()
        for turn in doomed.along:  # each is refused when it is sent again; what went is counted once
            alike = {"asked_by": row.asked_by, "epoch": row.epoch, "counts": {}, "at": now}
            Erasure.objects.create(bank=bank, kind=Kind.OUTPUT, subject=Erasure.digest(bank, turn), **alike)
        log(bank, actor, Event.Action.ERASE, now, receipt=row.pk, kind=doomed.kind, epoch=bank.epoch, **kept)
    return ErasureReceipt(row.pk, doomed.kind, row.asked_by, now, bank.epoch, dry_run, kept)
