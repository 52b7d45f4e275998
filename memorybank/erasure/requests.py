"""Requests to forget something, made in a chat: prompts omit the turns at once, and owners decide on erasing them.

Nothing is erased yet, so one click undoes a misunderstanding. Requests are detected while a turn is recorded.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q

from memorybank import hooks
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import forget_phrases
from memorybank.erasure.scope import with_versions
from memorybank.hooks import Change
from memorybank.indexing.invalidation import invalidate
from memorybank.language.terms import terms
from memorybank.models import (
    Bank,
    Chat,
    Checkpoint,
    Entry,
    ErasureRequest,
    Event,
    Fact,
    FactOutput,
    Output,
    SearchDocument,
)
from memorybank.models.chat import OutputQuerySet, sequences_by_chat
from memorybank.reading.mentions import chats_mentioning

#: Maximum number of other chats searched for the subject of a request.
MAX_SEARCHED_CHATS = 50
RequestState = ErasureRequest.State


def file_request(bank: Bank, output: Output, now: datetime) -> ErasureRequest | None:
    """Withhold the turns that a turn asks to forget, and file the request; None if it makes no request.

    The caller holds the bank's lock.
    """
    phrase = forget_phrases.find_forget_request(output.question)
    if phrase is None or output.said_by:
        return None
    outputs = [output, *_requested_turns(bank, output, phrase.about)]
    ids = [output.pk for output in outputs]
    Output.objects.filter(pk__in=ids).update(erasure_requested=True)
    output.erasure_requested = True
    facts = _facts_to_hide(bank, ids)
    Fact.objects.filter(pk__in=facts).update(hidden=True)
    SearchDocument.objects.filter(output__in=ids).delete()
    Checkpoint.objects.drop(sequences_by_chat(outputs))
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1)  # running jobs discard their results
    invalidate(bank, facts=facts, now=now)
    request = ErasureRequest.objects.create(
        bank=bank,
        chat_id=output.chat_id,
        asked_in=output.pk,
        author=output.author,
        outputs=ids,
        facts=facts,
        asked_at=now,
    )
    log(bank, output.author, Event.Action.ASK, now, request=request.pk, turns=len(ids), facts=len(facts))
    hooks.notify(bank.pk, Change.ERASURE_REQUESTED, [request.pk])
    return request


def _facts_to_hide(bank: Bank, outputs: Collection[int]) -> list[int]:
    """The facts that cite these turns, without those that a person has hidden."""
    citing = Fact.objects.filter(pk__in=FactOutput.objects.filter(output__in=outputs).values("fact"))
    requested = bank.erasure_requests.filter(state=RequestState.OPEN).values_list("facts", flat=True)
    shown = Q(hidden=False) | Q(pk__in={fact for facts in requested for fact in facts})
    return list(citing.filter(shown).values_list("pk", flat=True))


def _requested_turns(bank: Bank, output: Output, about: str) -> OutputQuerySet:
    """The author's earlier turns about the subject, with their versions; without any, the last turn that is shown."""
    own = Output.objects.filter(
        chat__bank=bank, author=output.author, sequence__lt=output.sequence, erasure_requested=False
    )
    if about:
        chats = {output.chat_id, *chats_mentioning(bank, [about], limit=MAX_SEARCHED_CHATS)}
        words = set(terms(about))
        turns = [turn.pk for turn in own.filter(chat__in=chats) if words and words <= set(terms(turn.question))]
        if turns:
            return with_versions(own, own.filter(pk__in=turns))
    last = own.filter(chat=output.chat_id).shown().order_by("-sequence")[:1]
    return with_versions(own, own.filter(pk__in=[turn.pk for turn in last]))


def confirmation(output: Output) -> str:
    """The sentence that answers a turn with an open request; "" for any other turn."""
    if not (
        output.erasure_requested and ErasureRequest.objects.filter(asked_in=output.pk, state=RequestState.OPEN).exists()
    ):
        return ""
    phrase = forget_phrases.find_forget_request(output.question)
    return forget_phrases.confirmation(phrase.language) if phrase else ""


@at_present
def reject_erasure_request(bank: Bank, *, request_id: int, actor: str, now: datetime = PRESENT) -> bool:
    """Reject a request and restore its turns; return whether it was still open.

    Raises ``ErasureRequest.DoesNotExist``.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        request = row.erasure_requests.get(pk=request_id)
        if not close(request, RequestState.RESTORED, actor, now):
            return False
        outputs = Output.objects.filter(pk__in=request.outputs)
        outputs.update(erasure_requested=False)
        withheld = FactOutput.objects.filter(fact__in=request.facts, output__erasure_requested=True)
        row.facts.filter(pk__in=request.facts).exclude(pk__in=withheld.values("fact")).update(hidden=False)
        chats = {output.chat_id for output in outputs}
        Checkpoint.objects.drop(sequences_by_chat(outputs))
        _mark_summaries_stale(outputs, request.facts)
        row.chats.filter(pk__in=chats).remembered().update(indexed_through=0, index_due=row.enabled)
        invalidate(row, now=now)
        log(row, actor, Event.Action.RESTORE, now, request=request.pk)
    return True


def _mark_summaries_stale(outputs: Iterable[Output], facts: Collection[int]) -> None:
    """Mark the summaries stale that were written without these turns while their erasure was requested."""
    for output in outputs:
        covering = {"chat": output.chat_id, "first_output__lte": output.sequence}
        covering["last_output__gte"] = output.sequence
        if Entry.objects.filter(**covering).exclude(facts__in=facts).update(stale=True):
            Chat.objects.filter(pk=output.chat_id).update(stale=True, due_at=F("last_output_at"))


def close(request: ErasureRequest, state: str, actor: str, now: datetime) -> bool:
    """Close a request; return whether it was still open."""
    open_ones = ErasureRequest.objects.filter(pk=request.pk, state=RequestState.OPEN)
    return bool(open_ones.update(state=state, closed_by=actor[:200], closed_at=now))
