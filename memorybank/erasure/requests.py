"""Somebody asks in a chat to have forgotten what she said: out of every prompt at once, and filed for the owners.

Nothing is erased yet, so that a misunderstanding costs a click. The wish is heard as the turn is recorded.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F

from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.core import forget_phrases
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
    StoredBlock,
)
from memorybank.models.output import sequences_by_chat
from memorybank.reading import recall

#: Chats looked through for what a wish is about, beside its own.
MOST = 50
State = ErasureRequest.State


def hear(bank: Bank, output: Output, now: datetime) -> ErasureRequest | None:
    """What a turn asks to have forgotten, suppressed and filed; None if it asks nothing. The caller holds ``bank``."""
    wish = forget_phrases.find_forget_request(output.question)
    if wish is None or output.said_by:
        return None
    meant = [output, *_meant(bank, output, wish.about)]
    ids = [each.pk for each in meant]
    Output.objects.filter(pk__in=ids).update(withheld=True)
    output.withheld = True
    citing = FactOutput.objects.filter(output__in=ids).values("fact")
    facts = list(Fact.objects.filter(pk__in=citing, hidden=False).values_list("pk", flat=True))
    Fact.objects.filter(pk__in=facts).update(hidden=True)
    SearchDocument.objects.filter(output__in=ids).delete()
    _make_checkpoints_anew(meant)
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1)  # who is at work on these turns writes nothing
    StoredBlock.objects.invalidate(bank, facts=facts, now=now)
    told = {"asked_in": output.pk, "author": output.author, "outputs": ids, "facts": facts, "asked_at": now}
    request = ErasureRequest.objects.create(bank=bank, chat_id=output.chat_id, **told)
    log(bank, output.author, Event.Action.ASK, now, request=request.pk, turns=len(ids), facts=len(facts))
    return request


def _meant(bank: Bank, output: Output, about: str) -> list[Output]:
    """Her own turns that speak of it; if none does, or it is not said, the one before."""
    hers = Output.objects.filter(chat__bank=bank, author=output.author, sequence__lt=output.sequence, withheld=False)
    if about:
        chats = {output.chat_id, *recall.chats_mentioning(bank, [about], most=MOST)}
        words = set(terms(about))
        if found := [each for each in hers.filter(chat__in=chats) if words and words <= set(terms(each.question))]:
            return found
    return list(hers.filter(chat=output.chat_id).order_by("-sequence")[:1])


def notice(output: Output) -> str:
    """What the answer to a turn says if it was a wish that stands; else ""."""
    if not (output.withheld and ErasureRequest.objects.filter(asked_in=output.pk, state=State.OPEN).exists()):
        return ""
    found = forget_phrases.find_forget_request(output.question)
    return forget_phrases.confirmation(found.language) if found else ""


@at_present
def restore_asked(bank: Bank, *, request_id: int, actor: str, now: datetime = PRESENT) -> bool:
    """It was not meant: everything is as it was; whether it was still open. Raises ``ErasureRequest.DoesNotExist``."""
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        request = row.erasure_requests.get(pk=request_id)
        if not close(request, State.RESTORED, actor, now):
            return False
        outputs = Output.objects.filter(pk__in=request.outputs)
        outputs.update(withheld=False)
        row.facts.filter(pk__in=request.facts).update(hidden=False)
        chats = {output.chat_id for output in outputs}
        _make_checkpoints_anew(outputs)
        _read_again(outputs, request.facts)
        row.chats.filter(pk__in=chats, private=False).update(indexed_through=0, index_due=row.enabled)
        StoredBlock.objects.invalidate(row, now=now)
        log(row, actor, Event.Action.RESTORE, now, request=request.pk)
    return True


def _make_checkpoints_anew(outputs: Iterable[Output]) -> None:
    """Those that stand for one of these turns go: with it, or now again without it, they would say another thing."""
    Checkpoint.objects.forget(sequences_by_chat(outputs))


def _read_again(outputs: Iterable[Output], facts: Collection[int]) -> None:
    """Summaries that were made meanwhile know nothing of these turns: they are made anew."""
    for output in outputs:
        covering = {"chat": output.chat_id, "first_output__lte": output.sequence}
        covering["last_output__gte"] = output.sequence
        if Entry.objects.filter(**covering).exclude(facts__in=facts).update(stale=True):
            Chat.objects.filter(pk=output.chat_id).update(stale=True, due_at=F("last_output_at"))


def close(request: ErasureRequest, state: str, actor: str, now: datetime) -> bool:
    """Settle an open request, once."""
    open_ones = ErasureRequest.objects.filter(pk=request.pk, state=State.OPEN)
    return bool(open_ones.update(state=state, closed_by=actor[:200], closed_at=now))
