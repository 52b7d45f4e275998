"""Requests of members to the owners: to forget something that they said, and objections to lines of others.

A request to forget is detected while a turn is recorded: prompts omit the turns at once, and owners decide on erasing
them. Nothing is erased yet, so one click undoes a misunderstanding. An objection changes nothing by itself.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from memorybank import hooks
from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import forget_phrases
from memorybank.erasure.scope import with_versions
from memorybank.exceptions import InvalidInput
from memorybank.hooks import Change
from memorybank.i18n import grouped
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
    MaskedValue,
    Output,
    SearchDocument,
)
from memorybank.models.chat import OutputQuerySet, sequences_by_chat
from memorybank.new_output import storable
from memorybank.reading.mentions import chats_mentioning

#: Maximum number of other chats searched for the subject of a request.
MAX_SEARCHED_CHATS = 50
MAX_REASON_CHARACTERS = 1_000
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
    requested = bank.erasure_requests.erasures().open().values_list("facts", flat=True)
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
        request = row.erasure_requests.erasures().get(pk=request_id)
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
    open_ones = ErasureRequest.objects.open().filter(pk=request.pk)
    return bool(open_ones.update(state=state, closed_by=actor[:200], closed_at=now, reason=""))


@at_present
def object_to(
    bank: Bank, *, fact_ids: Collection[int], reason: str, actor: str, now: datetime = PRESENT
) -> ErasureRequest:
    """File an objection of ``actor`` to facts that say the same, in place of their earlier one.

    Raises :class:`InvalidInput`, and ``Fact.DoesNotExist`` if an id is not of the bank.
    """
    reason = MaskedValue.objects.masker(bank).mask(storable(reason).strip())
    if not reason:
        raise InvalidInput(_("reason: say what is wrong."))
    if len(reason) > MAX_REASON_CHARACTERS:
        raise InvalidInput(
            _("reason: %(has)s characters, at most %(most)s are allowed.")
            % {"has": grouped(len(reason)), "most": grouped(MAX_REASON_CHARACTERS)}
        )
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        facts = sorted(row.facts.filter(pk__in=fact_ids).values_list("pk", flat=True))
        if not facts or len(facts) < len(set(fact_ids)):
            raise Fact.DoesNotExist(f"no such facts: {sorted(set(fact_ids).difference(facts))}")
        own = [objection for objection in _objections_to(row, facts) if objection.author == actor[:200]]
        request = own[0] if own else ErasureRequest(bank=row, author=actor[:200], outputs=[])
        request.facts, request.reason, request.asked_at = facts, reason, now
        request.save()
        log(row, actor, Event.Action.OBJECT, now, facts=facts)
        hooks.notify(row.pk, Change.LINE_HELD_BACK, facts[:1])
    return request


@at_present
def uphold(bank: Bank, *, request_id: int, actor: str, now: datetime = PRESENT) -> bool:
    """Leave a line as it is that somebody objected to; return whether the objection was still open.

    Raises ``ErasureRequest.DoesNotExist``.
    """
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        request = row.erasure_requests.objections().get(pk=request_id)
        if not close(request, RequestState.SETTLED, actor, now):
            return False
        log(row, actor, Event.Action.UPHOLD, now, facts=request.facts)
    return True


def settle(bank: Bank, facts: Collection[int], actor: str, now: datetime) -> None:
    """Close the objections to facts that somebody has corrected or hidden. The caller holds the bank's lock."""
    for objection in _objections_to(bank, facts):
        close(objection, RequestState.SETTLED, actor, now)


def _objections_to(bank: Bank, facts: Collection[int]) -> list[ErasureRequest]:
    """The open objections to one of these facts."""
    objections = bank.erasure_requests.objections().open()
    return [objection for objection in objections if not set(facts).isdisjoint(objection.facts)]
