"""Erase a chat, an author, turns, a line or everything, with all memory derived from it, and write a receipt.

One transaction deletes everything and increments the epoch, so that running jobs cannot write erased text back.
Other people's words stay; the next sweep rebuilds the summaries that lost a line.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from math import ceil
from operator import or_
from typing import Any, Self

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery, TextField
from django.db.models.functions import Cast

from memorybank import conf, hooks, llm
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import transcript
from memorybank.data_inventory import TABLES, Erasing
from memorybank.erasure import cascade, requests
from memorybank.erasure.receipts import ErasureReceipt, count_names
from memorybank.erasure.scope import ErasureKind, ErasureScope, Target, resolve_scope
from memorybank.erasure.turn_words import TurnWords
from memorybank.exceptions import InvalidInput
from memorybank.hooks import Change
from memorybank.indexing import block_writer, document_writer
from memorybank.language import tokens
from memorybank.language.titles import title_of
from memorybank.models import (
    CARRIED,
    AnswerRating,
    Bank,
    Chat,
    Embedding,
    Entry,
    Erasure,
    ErasureRequest,
    Event,
    MaskedValue,
    Output,
)
from memorybank.models.privacy import Subject
from memorybank.safety.redaction import Masker

#: Values searched for in one query.
VALUES_PER_QUERY = 50
#: Chats whose titles are changed in one query.
CHATS_PER_UPDATE = 200
#: The columns that are rewritten when half of a turn is erased.
HALF_FIELDS = next(table.words for table in TABLES if table.model is Output)


@at_present
def erase(
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
    """Erase one chat, one author's words, or outputs, with everything derived from them; return the receipt.

    ``facts`` erases a line: all outputs that these facts rest on, whoever wrote them. With ``dry_run`` nothing changes,
    and the receipt says what would be erased. Raises :class:`InvalidInput` unless exactly one existing target is named.
    """
    arguments = {
        ErasureKind.CHAT: chat,
        ErasureKind.AUTHOR: author,
        ErasureKind.OUTPUT: output,
        ErasureKind.LINE: facts,
    }
    targets = [(kind, target) for kind, target in arguments.items() if target is not None]
    if len(targets) != 1:
        raise InvalidInput("Name one of chat, author, output and facts.")
    return _forget(bank, *targets[0], actor=actor, now=now, dry_run=dry_run)


@at_present
def erase_everything(bank: Bank, *, actor: str, dry_run: bool = False, now: datetime = PRESENT) -> ErasureReceipt:
    """Erase every chat of a bank with all its memory. Turns from before ``now`` are not imported again."""
    return _forget(bank, ErasureKind.EVERYTHING, "", actor=actor, now=now, dry_run=dry_run)


def _forget(
    bank: Bank, kind: ErasureKind, target: Target, *, actor: str, now: datetime, dry_run: bool
) -> ErasureReceipt:
    """Erase the target; a dry run does the same and rolls it back, so that both receipts are equal."""
    plan = _ErasurePlan.of(bank, kind, target)
    with transaction.atomic():
        receipt, chats = plan.execute(bank, actor=actor, now=now, dry_run=dry_run)
        transaction.set_rollback(dry_run)
    if not dry_run:
        bank.refresh_from_db()
        block_writer.refresh(bank.pk, now=now)
        for chat in chats:
            document_writer.index_summarised(chat)
    return receipt


@at_present
def grant_erasure_request(bank: Bank, *, request_id: int, actor: str, now: datetime = PRESENT) -> list[ErasureReceipt]:
    """Erase the turns of a request; return a receipt for each turn, or none if the request is no longer open.

    Raises ``ErasureRequest.DoesNotExist``.
    """
    request = bank.erasure_requests.erasures().get(pk=request_id)
    if not requests.close(request, ErasureRequest.State.ERASED, actor, now):
        return []
    outputs = list(Output.objects.filter(chat__bank=bank, pk__in=request.outputs).values_list("pk", flat=True))
    return [erase(bank, output=pk, actor=actor, now=now) for pk in outputs]


@dataclass(frozen=True, slots=True)
class _ErasurePlan:
    """An erasure, with everything that can be read before the bank is locked."""

    kind: ErasureKind
    target: Target
    words: TurnWords
    masked_values: Mapping[str, str]

    @classmethod
    def of(cls, bank: Bank, kind: ErasureKind, target: Target) -> Self:
        """Raises :class:`InvalidInput` if there is no such target."""
        words, scope = TurnWords.of(bank), resolve_scope(bank, kind, target)
        masked_values = _learn_masked_values(bank, scope)
        cascade.preload(words, scope.outputs_by_chat())
        return cls(kind, target, words, masked_values)

    def execute(
        self, bank: Bank, *, actor: str, now: datetime, dry_run: bool = False
    ) -> tuple[ErasureReceipt, list[int]]:
        """Erase in the caller's transaction; return the receipt and the ids of the affected chats that still exist."""
        row, counts = Bank.objects.select_for_update().get(pk=bank.pk), Counter[str]()
        scope = resolve_scope(row, self.kind, self.target)
        until = max(now, scope.newest_turn() or now)  # a caller's clock may be ahead
        tombstones = [] if dry_run else scope.tombstones()
        chats = _erase(row, scope, self.words, counts, now)
        _forget_masked_values(row, self.masked_values, counts)
        if scope.kind == ErasureKind.EVERYTHING:
            for table in TABLES:
                if table.erasing is not Erasing.KEEP:
                    table.rows(row).delete()
        row.refresh_from_db()
        _count_rebuilds(row, counts)
        receipt = _receipt(
            row, scope, counts, tombstones=tombstones, actor=actor, now=now, until=until, dry_run=dry_run
        )
        return receipt, chats


# --- deleting -------------------------------------------------------------------------------------------


def _erase(bank: Bank, scope: ErasureScope, words: TurnWords, counts: Counter[str], now: datetime) -> list[int]:
    """Delete from every table; return the ids of affected chats that still exist. The caller holds the bank's lock."""
    counts["blocks"] = bank.blocks.count()
    counts["turns"], counts["halves_of_turns"] = scope.outputs.count(), len(scope.halves)
    outputs = scope.outputs_by_chat()
    counts["vectors"] = Embedding.objects.filter(document__chat__in=outputs).count()
    facts: set[int] = set()
    if scope.kind in (ErasureKind.CHAT, ErasureKind.EVERYTHING):
        named = bank.chats.filter(key=scope.subject[1]) if scope.kind == ErasureKind.CHAT else bank.chats.all()
        for chat in named.select_for_update().order_by("pk"):
            facts |= cascade.remove_chat(bank, chat, counts)
        empty = named
    else:
        quoting = scope.chats_with_quoting_titles()
        scope.outputs.delete()
        Output.objects.bulk_update(scope.halves, HALF_FIELDS)
        facts = cascade.remove_outputs(bank, outputs, words, counts)
        _retitle(bank, quoting)
        if scope.kind == ErasureKind.AUTHOR:
            AnswerRating.objects.filter(output__chat__bank=bank, person=scope.subject[1]).delete()
            bank.erasure_requests.objections().filter(author=scope.subject[1]).delete()
        empty = bank.chats.filter(pk__in=outputs, outputs=None)
    counts["chats"] = empty.count()
    cascade.remove_from_blocks(bank, counts, facts=facts, outputs=outputs, now=now)
    empty.delete()
    if scope.kind == ErasureKind.EVERYTHING:
        Bank.objects.filter(pk=bank.pk).update(remembers_since=now)
    return list(bank.chats.filter(pk__in=outputs).values_list("pk", flat=True))


def _retitle(bank: Bank, chats: Collection[int]) -> None:
    """Name each of these chats after the first message that is left in it, if there is one."""
    left = Output.objects.shown().filter(chat=OuterRef("pk"), erasure_requested=False).exclude(question="")
    first = Subquery(left.order_by("sequence").values("question")[:1])
    rows = bank.chats.filter(pk__in=chats).annotate(first=first).values_list("pk", "first")
    titles = [Chat(pk=pk, title=title_of(question or "")) for pk, question in rows]
    Chat.objects.bulk_update(titles, ["title"], batch_size=CHATS_PER_UPDATE)


def _learn_masked_values(bank: Bank, scope: ErasureScope) -> dict[str, str]:
    """The values that are masked in these outputs, with their kinds."""
    masker = Masker()
    before = Output.objects.filter(pk__in=[turn.pk for turn in scope.halves])
    for outputs in (scope.outputs.order_by("sequence"), before):
        for output in outputs.iterator(chunk_size=200):
            transcript.read([output], tz=bank.tz, masker=masker)  # the masker learns the values
    return masker.learnt


def _forget_masked_values(bank: Bank, masked_values: Mapping[str, str], counts: Counter[str]) -> None:
    """Forget the values that no remaining turn contains."""
    values = sorted(masked_values)
    for start in range(0, len(values), VALUES_PER_QUERY):
        some = values[start : start + VALUES_PER_QUERY]
        remaining = "\n".join(_turns_containing(bank, some))
        counts["masked_values"] += MaskedValue.objects.forget(bank, [value for value in some if value not in remaining])


def _turns_containing(bank: Bank, values: list[str]) -> Iterator[str]:
    """The original text of the turns that contain one of the values."""
    spellings = {*values, *(json.dumps(value)[1:-1] for value in values)}  # a JSON column escapes characters
    names = ("question", "answer", "messages_text")
    containing = reduce(or_, (Q(**{f"{name}__contains": value}) for value in spellings for name in names))
    rows = Output.objects.filter(chat__bank=bank).annotate(messages_text=Cast("messages", TextField()))
    rows = rows.filter(containing)
    for question, answer, messages in rows.values_list("question", "answer", "messages").iterator():
        yield f"{question}\n{answer}\n{json.dumps(messages, ensure_ascii=False)}"


# --- what will be rebuilt, and the receipt ----------------------------------------------------------------


def _count_rebuilds(bank: Bank, counts: Counter[str]) -> None:
    """Count what will be rebuilt, and estimate the model calls that this takes."""
    stale = bank.entries.filter(stale=True)
    leaves, digests = list(stale.leaves()), list(stale.digests())
    above = stale.leaves().above().exclude(pk__in=[digest.pk for digest in digests])
    counts["summaries_to_mend"], counts["digests_to_mend"] = len(leaves), len(digests) + above.count()
    if llm.get("summary"):
        rebuilt = [digest for digest in [*digests, *above] if digest.parent_id is None and digest.method != CARRIED]
        counts["calls"] = sum(map(_calls, leaves)) + len(rebuilt)


def _calls(leaf: Entry) -> int:
    settings = conf.current()
    size = sum(tokens.count(f"{output.question}\n{output.answer}", settings.encoding) for output in leaf.covered())
    return 1 if size <= settings.chunk_from_tokens else ceil(size / settings.chunk_tokens)


def _receipt(
    bank: Bank,
    scope: ErasureScope,
    counts: Counter[str],
    *,
    tombstones: Collection[Subject],
    actor: str,
    now: datetime,
    until: datetime,
    dry_run: bool,
) -> ErasureReceipt:
    """Write the receipt, the tombstones and the audit event: they hold counts, never erased text."""
    nonzero = {name: counts[name] for name in count_names() if counts[name]}
    common: dict[str, Any] = {"bank": bank, "asked_by": actor[:200], "epoch": bank.epoch, "at": now, "until": until}
    row = Erasure(kind=scope.kind, subject=Erasure.digest(bank, scope.subject), counts=nonzero, **common)
    if not dry_run:
        row.save()
        # Tombstones that block re-import; the receipt above has the counts.
        Erasure.objects.bulk_create(
            Erasure(kind=ErasureKind.OUTPUT, subject=Erasure.digest(bank, turn), counts={}, **common)
            for turn in tombstones
        )
        hooks.notify(bank.pk, Change.ERASED, [row.pk])
        log(bank, actor, Event.Action.ERASE, now, receipt=row.pk, kind=scope.kind, epoch=bank.epoch, **nonzero)
    return ErasureReceipt(row.pk, scope.kind, row.asked_by, now, bank.epoch, dry_run, nonzero)
