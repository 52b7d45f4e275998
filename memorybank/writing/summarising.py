"""Summarise a chat's pending turns into the cited facts of a leaf: claim, read, take notes, commit.

The model is called outside any transaction. The commit is one short write that checks the lease, the epoch, and that
the chat is still remembered; otherwise nothing is written. From then on recall finds the turns, too. While the model
fails, extracted sentences stand in for its notes: they are provisional, and the chat waits for the model.
"""

import logging
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q

from memorybank import bank_scope, conf, hooks, prepared
from memorybank.core import rollup_policy, transcript
from memorybank.core.turns import Turn
from memorybank.erasure import cascade
from memorybank.exceptions import (
    LLMError,
    LLMRejected,
    LLMUnavailable,
    NotRemembered,
    OutdatedWork,
    describe,
    public_message,
)
from memorybank.hooks import Change
from memorybank.indexing import document_writer, remask
from memorybank.indexing.fact_replacement import replaced_by, supersede, supersede_again
from memorybank.language import work_cache
from memorybank.model_calls import budget_cap
from memorybank.model_calls.session import BackingOff, session
from memorybank.models import (
    BY_HAND,
    CAPPED_METHOD,
    STAND_IN_METHOD,
    Bank,
    Chat,
    Entry,
    Fact,
    FactSource,
    Granularity,
    MaskedValue,
    OptOut,
    Output,
)
from memorybank.models.ledger import backoff
from memorybank.prepared import PreparedQuery
from memorybank.reading.recall.documents import Document, EarlierTurns
from memorybank.safety.redaction import Masker
from memorybank.writing import note_taking
from memorybank.writing.batches import Batch, next_batch
from memorybank.writing.fact_store import write_facts
from memorybank.writing.note_taking import TakenNotes

logger = logging.getLogger(__name__)

_LEASED = PreparedQuery(lambda pk: Chat.objects.filter(pk=pk, leased_until__isnull=False))
_LOCKED_BANK = PreparedQuery(lambda pk: Bank.objects.select_for_update().filter(pk=pk))
_LOCKED_CHAT = PreparedQuery(lambda pk, token: Chat.objects.select_for_update().filter(pk=pk, lease_token=token))
_PENDING = PreparedQuery(
    lambda chat, after: (
        Chat.objects.filter(pk=chat)
        .annotate(count=Count("outputs", filter=Q(outputs__sequence__gt=after, outputs__status=Output.Status.OK)))
        .values_list("count")
    )
)
_STALE = PreparedQuery(lambda chat: Entry.objects.filter(chat=chat, stale=True).order_by().values_list("pk")[:1])
#: What a summary changes of its chat.
_PROGRESS_FIELDS = (
    "summarised_through",
    "index_due",
    "pending_outputs",
    "stale",
    "attempts",
    "failed_since",
    "parked_at",
    "last_error",
    "leased_until",
    "lease_token",
    "due_at",
)


def summarise_chat(chat_id: int, *, now: datetime, even_if_busy: bool = False) -> Entry | None:
    """Summarise a chat's pending turns; return the leaf, or None if there was nothing to do.

    A chat that is not due any more (a late or duplicate message) is left alone, unless ``even_if_busy``.

    Raises :class:`LLMUnavailable` or :class:`LLMMisconfigured` (the chat backs off until the model works), or
    :class:`LLMRejected` (the chat backs off; its last attempt extracts the facts without the model).
    """
    _count_lost_attempt(chat_id, now)
    chats = Chat.objects.select_related("bank")
    chat = (chats if even_if_busy else chats.filter(due_at__lte=now)).claim(chat_id, now)
    if chat is None:
        return None
    with bank_scope.banks_entered(chat.bank_id):
        return _summarise_claimed(chat, now)


def _summarise_claimed(chat: Chat, now: datetime) -> Entry | None:
    try:
        summary = _summarise(chat, now)
    except (OutdatedWork, NotRemembered) as reason:
        logger.info("chat %s: nothing written: %s", chat.pk, reason)
        return None
    except LLMError as error:
        if not isinstance(error, BackingOff):
            _count_failure(chat, str(error), now, parks=isinstance(error, LLMRejected))
        raise
    except Exception as error:  # otherwise the queue would return this chat first, again and again
        _count_failure(chat, public_message(error), now, parks=True)
        raise
    finally:
        chat.release()  # no effect if the commit or the failure has released it
    if not summary.is_indexed:
        document_writer.index_summarised(chat.pk)
    if summary.failure and not isinstance(summary.failure, BackingOff):
        raise summary.failure
    return summary.leaf


@dataclass(frozen=True, slots=True)
class _Summary:
    """The leaf, if there was something to summarise; whether its turns are indexed; why it is provisional, if it is."""

    leaf: Entry | None
    is_indexed: bool
    failure: LLMError | None = None


def _summarise(chat: Chat, now: datetime) -> _Summary:
    """Summarise a claimed chat."""
    if not (chat.is_remembered and chat.bank.enabled):
        raise NotRemembered("nobody may read memory of the chat, or the bank is off")
    batch = next_batch(chat)
    if batch.through == chat.summarised_through and not batch.mends:
        return _Summary(leaf=None, is_indexed=True)
    bank = chat.bank
    masker = MaskedValue.objects.masker(bank)
    turns = transcript.read(OptOut.objects.usable(bank, batch.outputs), tz=bank.tz, masker=masker)
    for fact in batch.known:  # a model reads them as well, so they must be masked
        fact.text = masker.mask_learnt(fact.text)
    pending = [output for output in batch.outputs if output.sequence > chat.summarised_through]
    pending_ids, earlier = {output.pk for output in pending}, document_writer.earlier_turns(chat, pending)
    indexed = [turn for turn in turns if turn.id in pending_ids]
    # The index and the extraction read the same sentences, one after the other, while the model thinks.
    with work_cache.work(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="beside") as beside:
        documents = beside.submit(copy_context().run, document_writer.prepare, chat, indexed, earlier)
        notes = _take_notes(chat, [turn for turn in turns if turn.utterances], batch, beside, now)
    return _commit(chat, batch, notes, documents.result(), masker, now)


def write_by_hand(chat: Chat, *, kind: str, now: datetime) -> Fact:
    """Store the text that a person wrote for memory, in a chat of one turn: masked, as one fact.

    Raises :class:`OutdatedWork` if the bank was switched off.
    """
    claimed = Chat.objects.select_related("bank").claim(chat.pk, now)
    if claimed is None:
        raise OutdatedWork("another worker is summarising the chat")
    batch, masker = next_batch(claimed), MaskedValue.objects.masker(claimed.bank)
    [turn] = transcript.read(batch.outputs, tz=claimed.bank.tz, masker=masker)
    draft = note_taking.fact_as_written(turn, kind)
    documents = document_writer.prepare(claimed, [turn], EarlierTurns())
    leaf = _commit(claimed, batch, TakenNotes([draft], BY_HAND), documents, masker, now).leaf
    assert leaf is not None
    return leaf.facts.get()


def _take_notes(chat: Chat, turns: list[Turn], batch: Batch, beside: Executor, now: datetime) -> TakenNotes:
    if not turns:
        return TakenNotes()
    try:
        with session(chat.bank, now) as opened:
            if not opened and budget_cap.method() == CAPPED_METHOD and batch.adds_to_notes(CAPPED_METHOD):
                raise LLMUnavailable("The monthly cap is reached.")
            notes = note_taking.take_notes(opened, chat.bank, turns, batch.known, beside, detail=_has_room(chat.bank))
    except LLMError as error:
        gives_up = isinstance(error, LLMRejected) and chat.attempts + 1 >= conf.current().max_attempts
        if batch.mends and not gives_up:
            raise
        logger.info("chat %s: extracted: %s", chat.pk, describe(error))
        notes = replace(note_taking.take_notes(None, chat.bank, turns, batch.known, beside), provisional=True)
        return notes if gives_up else replace(notes, method=STAND_IN_METHOD, failure=error)
    return notes if opened else replace(notes, method=budget_cap.method())


def _has_room(bank: Bank) -> bool:
    """Whether the block has room for sentences beside the written lines."""
    return not Entry.objects.outgrow(bank, bank.max_tokens * rollup_policy.WRITTEN_SHARE)


def _commit(
    chat: Chat, batch: Batch, notes: TakenNotes, documents: list[Document] | None, masker: Masker, now: datetime
) -> _Summary:
    """Write the result in one short transaction; raise :class:`OutdatedWork` if anything it rests on has changed."""
    with transaction.atomic():
        bank = _LOCKED_BANK.first(chat.bank_id)
        if bank is None or bank.epoch != chat.bank.epoch or not bank.enabled:
            raise OutdatedWork("something was erased, or the bank was switched off")
        fresh = _LOCKED_CHAT.first(chat.pk, chat.lease_token)
        if fresh is None or not fresh.is_remembered:
            raise OutdatedWork("the lease was lost, or nobody may read memory of the chat any more")
        notes, documents = _mask_new_secrets(bank, notes, documents, masker)
        remask.learn(bank, masker)
        leaf = _write_leaf(fresh, bank, batch, notes) if batch.outputs else None
        _advance_watermark(fresh, bank, batch.through, notes.failure, now)
        is_indexed = documents is not None and document_writer.write(chat, bank, documents, batch.through)
        Bank.objects.touch(bank.pk, consolidate_at=now)
    chat.lease_token = ""  # released by the commit
    return _Summary(leaf, is_indexed, notes.failure)


def _mask_new_secrets(
    bank: Bank, notes: TakenNotes, documents: list[Document] | None, masker: Masker
) -> tuple[TakenNotes, list[Document] | None]:
    """Mask secrets that other workers learned meanwhile; if there are any, drop the documents, to index them later."""
    current = MaskedValue.objects.masker(bank)
    if current.known == masker.known:
        return notes, documents
    return replace(notes, drafts=[replace(draft, text=current.mask(draft.text)) for draft in notes.drafts]), None


def _advance_watermark(chat: Chat, bank: Bank, through: int, failure: LLMError | None, now: datetime) -> None:
    """Advance the watermark, so that the turns before it can be recalled; count new arrivals; release the lease.

    After a failure of the model, the chat is tried again after a pause, or when the model answers.
    """
    chat.summarised_through, chat.index_due = through, True
    [(chat.pending_outputs,)] = _PENDING.rows(chat.pk, through)
    chat.stale = bool(_STALE.rows(chat.pk))
    attempts, failed_since = chat.attempts + 1, chat.failed_since or now
    chat.attempts, chat.failed_since, chat.parked_at, chat.last_error = 0, None, None, ""
    chat.leased_until, chat.lease_token = None, ""
    chat.due_at = chat.next_due(bank)
    if failure:
        chat.attempts, chat.failed_since, chat.last_error = attempts, failed_since, str(failure)[:500]
        chat.due_at = now + backoff(attempts)
    prepared.update([chat], _PROGRESS_FIELDS)


def _write_leaf(chat: Chat, bank: Bank, batch: Batch, notes: TakenNotes) -> Entry:
    adds_to_notes = batch.adds_to_notes(notes.method)
    leaf = _leaf(chat, bank, batch, notes, is_rewritten=not adds_to_notes)
    if batch.rebuilds:
        # Keep unchanged facts, to which digests and newer facts refer, and facts of turns without text, which cannot
        # be derived again. Of equal drafts the first is stored: a note rather than the sentence that it repeats.
        unchanged = {draft.text: draft.detail for draft in reversed(notes.drafts)} if batch.mends else {}
        lasting = {output.pk for output in batch.outputs if not output.has_words}
        replaceable = {
            fact.pk
            for fact in leaf.facts.prefetch_related("output_links")
            if not (
                fact.decided_by_person
                or unchanged.get(fact.text) == fact.detail
                or lasting.intersection(fact.citations)
            )
        }
    else:
        replaceable = {fact.pk for fact in batch.known if fact.pk in notes.replaced}
        if replaceable and leaf.facts.filter(pk__in=replaceable).decided_by_person().exists():
            raise OutdatedWork("a person decided on a fact that the new notes replace")
    if batch.mends:
        replaceable -= _notes_of(replaceable) if adds_to_notes else _cited_by_digests(replaceable)
    outdated = Fact.objects.filter(pk__in=replaceable)
    replaced = replaced_by(outdated)
    outdated.delete()
    kept = list(leaf.facts.all()) if batch.leaf else []
    supersede(bank, write_facts(leaf, notes.drafts, kept=kept))
    supersede_again(bank, replaced)
    hooks.notify(bank.pk, Change.ENTRY_WRITTEN, [] if chat.private else [leaf.pk])
    if batch.mends and (leaf.parent_id or leaf.detached_from):
        cascade.mark_digests_stale(leaf)
    return leaf


def _notes_of(facts: set[int]) -> set[int]:
    """The ids of those facts of a leaf being mended that are notes: extracted sentences replace none."""
    return set(Fact.objects.filter(pk__in=facts, detail=False).values_list("pk", flat=True))


def _cited_by_digests(facts: set[int]) -> set[int]:
    """The ids of those facts of a leaf being mended that a digest's lines rest on.

    They become detail, and stand until the digest is rewritten, or the leaf once more.
    """
    lines = FactSource.objects.filter(source__in=facts, source__quarantine="", fact__entry__parent=None)
    cited = set(lines.values_list("source", flat=True))
    Fact.objects.filter(pk__in=cited).update(detail=True)
    return cited


def _leaf(chat: Chat, bank: Bank, batch: Batch, notes: TakenNotes, *, is_rewritten: bool) -> Entry:
    """The leaf that takes the facts: the extended one, locked, or a new one; if ``is_rewritten``, with their method."""
    first, last = batch.outputs[0], batch.outputs[-1]
    leaf = None
    if batch.leaf:
        parent = batch.leaf.parent_id if batch.mends else None
        unmoved = {"pk": batch.leaf.pk, "parent": parent, "last_output": batch.leaf.last_output}
        leaf = Entry.objects.select_for_update().filter(**unmoved).first()
        if leaf is None:
            raise OutdatedWork("the leaf was rolled up or extended meanwhile")
    if leaf is None:
        leaf = Entry(bank=bank, chat=chat, granularity=Granularity.CONVERSATION, first_output=first.sequence)
        leaf.output_count, leaf.first_at, leaf.last_at = 0, first.created_at, first.created_at
    else:
        leaf.updates = 0 if batch.rebuilds and not batch.mends else leaf.updates + 1
    times = [output.created_at for output in batch.outputs]
    new = sum(output.sequence > chat.summarised_through for output in batch.outputs)
    leaf.first_at, leaf.last_at = min([leaf.first_at, *times]), max([leaf.last_at, *times])
    if leaf.parent_id is None and leaf.detached_from is None:
        leaf.period_start = leaf.last_at.astimezone(bank.tz).date()
    leaf.last_output, leaf.output_count = max(last.sequence, leaf.last_output or 0), leaf.output_count + new
    if is_rewritten:
        leaf.method, leaf.provisional = notes.method, notes.provisional
    leaf.stale = notes.failure is not None
    leaf.dropped_lines = notes.dropped_lines
    if leaf.pk:
        leaf.save()
    else:
        prepared.insert([leaf])
    return leaf


def _count_lost_attempt(chat_id: int, now: datetime) -> None:
    """Count work that outlived its lease as a failed attempt; otherwise a chat that takes longer is tried for ever."""
    for lost in (chat for chat in _LEASED.rows(chat_id) if chat.leased_until and chat.leased_until <= now):
        _count_failure(lost, "The work took longer than its lease, or its worker died.", now, parks=True, pause=False)


def _count_failure(chat: Chat, error: str, now: datetime, *, parks: bool, pause: bool = True) -> None:
    """Back off, so that untried chats come first; park a chat that has failed too often. Its turns stay."""
    attempts = chat.attempts + 1
    parked = parks and attempts >= conf.current().max_attempts
    due_at = now + backoff(attempts) if pause else chat.due_at
    chat.release(
        attempts=attempts,
        failed_since=chat.failed_since or now,
        parked_at=now if parked else None,
        due_at=None if parked else due_at,
        last_error=error[:500],
    )
    if parked:
        hooks.notify(chat.bank_id, Change.CHAT_PARKED, [chat.pk])
