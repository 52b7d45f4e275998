"""Record an output and complete it: validated, in one short transaction, without a model call."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from memorybank import prepared
from memorybank.clock import PRESENT, at_present
from memorybank.erasure import requests
from memorybank.erasure.tombstones import are_erased
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Chat, ChatReader, Output, QuotedChat
from memorybank.new_output import AttemptResult, NewOutput, as_json, storable
from memorybank.prepared import PreparedQuery
from memorybank.quoted_words import private_words, quoted_chats

#: Fields of a chat that a new output may change.
CHAT_COUNT_FIELDS = ["last_output_at", "pending_outputs", "parked_at", "attempts", "due_at", "title", "quoted_words"]
#: Fields of a pending output that its answer sets.
ANSWER_FIELDS = (
    "sequence author said_by answered_by question answer messages metadata status error quotes_private replaces "
    "created_at asked_at"
).split()
_BANK = PreparedQuery(lambda pk: Bank.objects.select_for_update().filter(pk=pk))
_CHAT = PreparedQuery(lambda bank, pk: Chat.objects.select_for_update().filter(bank=bank, pk=pk))
_CHAT_BY_KEY = PreparedQuery(lambda bank, key: Chat.objects.select_for_update().filter(bank=bank, key=key))
_OUTPUT = PreparedQuery(lambda chat, pk: Output.objects.filter(chat=chat, pk=pk))
#: A chat's id and an output's key in it.
ChatOutputKey = tuple[int, str]


def record(bank: Bank, new: NewOutput, *, now: datetime) -> tuple[Output, bool]:
    """Record an output; return it and whether it is new. The same key in the same chat is recorded once.

    If the known output has no answer and ``new`` is ok, ``new`` completes it. Raises :class:`InvalidInput` if it was
    erased.
    """
    new.require_valid(now)
    with _one_transaction():
        # A worker may have locked the chat's row, but not the bank's.
        row, chat = prepared.first_of_each((_BANK, bank.pk), (_CHAT_BY_KEY, bank.pk, new.chat_key))
        locked, known = _existing(row), None
        if any(are_erased(locked, [new])):
            raise InvalidInput(_("created_at: what was said there up to then has been erased."))
        if chat is None:
            [chat] = begin_chats(locked, [new])
        elif new.key:
            known = chat.outputs.with_keys([new.key]).first()
        if known and not _is_answer_to(new, known):
            return known, False
        output = _insert_or_complete(locked, chat, new, known, at=new.created_at)
        if new.status in (Output.Status.OK, Output.Status.PENDING) and not output.erasure_requested:
            requests.file_request(locked, output, now)
        return output, True


@at_present
def record_many(bank: Bank, many: Sequence[NewOutput], *, now: datetime = PRESENT) -> list[Output | None]:
    """Record ``many`` outputs in order: each output, or None where it is known already or was erased.

    By the rules of :func:`record`, in one transaction with few queries. Raises :class:`InvalidInput` if one is refused;
    then nothing is recorded.
    """
    for new in many:
        new.require_valid(now)
    with transaction.atomic():
        locked = _locked_bank(bank)
        taken = [None if erased else new for new, erased in zip(many, are_erased(locked, many), strict=True)]
        allowed = [new for new in taken if new]
        chats = _locked_chats(locked, allowed)
        known = Output.objects.known((chats[new.chat_key].pk, new.key) for new in allowed if new.key)
        outputs = _new_rows(taken, chats, known)
        written = _last_of_each(outputs)
        for row, sequence in zip(written, locked.draw(len(written)), strict=True):
            row.sequence = sequence
        Output.objects.bulk_update([output for output in written if output.pk], ANSWER_FIELDS)
        Output.objects.bulk_create([output for output in written if not output.pk])
        for new, output in zip(many, outputs, strict=True):
            if output:
                QuotedChat.objects.record(output, quoted_chats(chats[new.chat_key], new.quotes))
                _count_output(locked, chats[new.chat_key], new, at=new.created_at)
        changed = {output.chat_id for output in written}
        prepared.update((chat for chat in chats.values() if chat.pk in changed), CHAT_COUNT_FIELDS)
    return outputs


def _last_of_each(outputs: Sequence[Output | None]) -> list[Output]:
    """The rows, each once, where it occurs last. By identity, because unsaved rows are never equal."""
    last = {id(output): place for place, output in enumerate(outputs)}
    return [output for place, output in enumerate(outputs) if output and last[id(output)] == place]


def _new_rows(
    many: Sequence[NewOutput | None], chats: dict[str, Chat], known: dict[ChatOutputKey, Output]
) -> list[Output | None]:
    """An unsaved row without a sequence for each output, or None where there is none or it is known already.

    A known row without an answer takes the answer.
    """
    rows: list[Output | None] = []
    for new in many:
        if new is None:
            rows.append(None)
            continue
        chat = chats[new.chat_key]
        before = known.get((chat.pk, new.key)) if new.key else None
        if before and not _is_answer_to(new, before):
            rows.append(None)
            continue
        output = _to_row(chat, new, quoted_chats(chat, new.quotes))
        if before:
            for name in ANSWER_FIELDS:
                setattr(before, name, getattr(output, name))
            output = before
        rows.append(output)
        known[chat.pk, new.key] = output
    return rows


@at_present
def retry_output(bank: Bank, output_id: int, *, now: datetime = PRESENT) -> Output:
    """Make an output that is not ok pending again, as of ``now``; it is not duplicated.

    Raises :class:`InvalidInput` if it was answered or erased meanwhile.
    """
    with transaction.atomic():
        locked = _locked_bank(bank)
        output = Output.objects.unanswered().filter(pk=output_id, chat__bank=locked).select_related("chat").first()
        if output is None:
            raise InvalidInput(_("message: it has been answered or erased meanwhile."))
        output.status, output.asked_at, output.error = Output.Status.PENDING, now, ""
        output.save(update_fields=["status", "asked_at", "error"])
        chat = Chat.objects.select_for_update().get(pk=output.chat_id)
        _touch_chat(locked, chat, at=now)
        chat.save(update_fields=CHAT_COUNT_FIELDS)
    return output


@at_present
def reopen_output(bank: Bank, output_id: int, *, now: datetime = PRESENT) -> Output | None:
    """Make an answered output pending again, as of ``now``, because its turn goes on; None if memory covers it already.

    The old answer stays until the new one replaces it.
    """
    with transaction.atomic():
        locked = _locked_bank(bank)
        output = Output.objects.filter(pk=output_id, chat__bank=locked, status=Output.Status.OK).first()
        chat = Chat.objects.select_for_update().get(pk=output.chat_id) if output else None
        if output is None or chat is None or output.sequence <= chat.summarised_through:
            return None
        output.status, output.asked_at = Output.Status.PENDING, now
        output.save(update_fields=["status", "asked_at"])
        chat.pending_outputs = max(0, chat.pending_outputs - 1)
        # A summary in progress has read the chat with this answer: it must not move the watermark past it.
        chat.lease_token, chat.leased_until = "", None
        _touch_chat(locked, chat, at=now)
        chat.save(update_fields=[*CHAT_COUNT_FIELDS, "lease_token", "leased_until"])
    return output


def complete(bank: Bank, output: Output, outcome: AttemptResult, *, now: datetime) -> Output:
    """Record the outcome of an attempt at ``output``; return the output as it is now.

    The first answer wins, whichever attempt it comes from; a failure counts only if it is that of the latest attempt.
    An answered output gets the highest sequence of its bank, so that no watermark has passed it. Raises
    :class:`InvalidInput` if it has been erased meanwhile, and writes nothing.
    """
    outcome.require_valid()
    with _one_transaction():
        chat_id = output.chat_id
        asked = (_BANK, bank.pk), (_CHAT, bank.pk, chat_id), (_OUTPUT, chat_id, output.pk)
        found: tuple[Bank | None, Chat | None, Output | None] = (*prepared.first_of_each(*asked),)
        locked, chat, known = _existing(found[0]), *found[1:]
        if chat is None or known is None:
            raise InvalidInput(_("message: it was erased before it was answered."))
        if known.status == Output.Status.OK:
            return known
        if outcome.status == Output.Status.OK:
            return _record_answer(locked, chat, known, outcome, now)
        if known.asked_at == output.asked_at:
            known.status, known.error = outcome.status, storable(outcome.error[:500])
            known.save(update_fields=["status", "error"])
        return known


@at_present
def add_messages(bank: Bank, output: Output, messages: Sequence[Any], *, now: datetime = PRESENT) -> None:
    """Append the messages of tools to an output that has no answer yet.

    Raises :class:`InvalidInput` if they are malformed, or too long together.
    """
    with transaction.atomic():
        _locked_bank(bank)
        known = _OUTPUT.first(output.chat_id, output.pk)
        if known is None or known.status == Output.Status.OK:
            return
        all_messages = [*known.messages, *messages]
        new = NewOutput(output.chat.key, known.author, known.question, known.created_at, messages=all_messages)
        new.require_valid(now)
        known.messages = _storable_messages(new)
        prepared.update([known], ["messages"])


@contextmanager
def _one_transaction() -> Iterator[None]:
    """A transaction, or a part of the caller's without a savepoint: two statements less for each message.

    :class:`InvalidInput`, which is raised before anything is written, does not roll back the caller's. Any other error
    does, also if the caller catches it: without a savepoint nobody knows what was written.
    """
    refusal = None
    with transaction.atomic(savepoint=False):
        try:
            yield
        except InvalidInput as error:
            refusal = error
    if refusal:
        raise refusal


def _is_answer_to(new: NewOutput, known: Output) -> bool:
    """Whether a known output has no answer and the new one has."""
    return known.status != Output.Status.OK and new.status == Output.Status.OK


def _locked_bank(bank: Bank) -> Bank:
    """The bank, locked until the transaction ends.

    The lock makes sequences grow in the order in which turns become ok, so that no watermark passes a turn that is not
    ok yet; and switching the bank on sees every pending turn.
    """
    return _existing(_BANK.first(bank.pk))


def _existing(bank: Bank | None) -> Bank:
    if bank is None:
        raise InvalidInput(_("The project has been deleted."))
    return bank


def _locked_chats(bank: Bank, many: Iterable[NewOutput]) -> dict[str, Chat]:
    """The chats of ``many`` by key, locked; missing ones are created."""
    keys = dict.fromkeys(new.chat_key for new in many)
    rows = Chat.objects.select_for_update().filter(bank=bank, key__in=keys).order_by("pk")
    chats = {chat.key: chat for chat in rows}
    first = {new.chat_key: new for new in reversed(list(many)) if new.chat_key not in chats}
    return chats | {chat.key: chat for chat in begin_chats(bank, [first[key] for key in keys if key in first])}


def begin_chats(bank: Bank, first: Sequence[NewOutput]) -> list[Chat]:
    """Create chats with the audience that each first output names, or the bank's default. The caller locks the bank."""
    private = [bank.new_chats_private if new.private is None else new.private for new in first]
    pairs = zip(first, private, strict=True)
    chats = [Chat(bank=bank, key=new.chat_key, private=own, begun_by=new.begun_by) for new, own in pairs]
    prepared.insert(chats)
    readers = [(chat, person) for chat, new in zip(chats, first, strict=True) if chat.private for person in new.readers]
    prepared.insert(ChatReader(chat=chat, person=person) for chat, person in readers)
    return chats


def _record_answer(bank: Bank, chat: Chat, known: Output, outcome: AttemptResult, now: datetime) -> Output:
    appendix = f"\n\n{sentence}" if (sentence := requests.confirmation(known)) else ""
    answered = NewOutput(
        chat_key=chat.key,
        author=known.author,
        said_by=known.said_by,
        answered_by=known.answered_by,
        question=known.question,
        created_at=known.created_at,
        answer=f"{outcome.answer}{appendix}",
        messages=outcome.messages or known.messages,
        metadata=known.metadata,
        quotes=outcome.quotes,
        key=known.key,
        title=outcome.title,
    )
    answered.require_valid(now)
    return _insert_or_complete(bank, chat, answered, known, at=now)


def _insert_or_complete(bank: Bank, chat: Chat, new: NewOutput, known: Output | None, *, at: datetime) -> Output:
    """Insert the output, or complete the ``known`` one; ``at`` is when the chat was last active with it."""
    quoted = quoted_chats(chat, new.quotes)
    output = _to_row(chat, new, quoted)
    [output.sequence] = bank.draw(1)
    if known:
        output.pk, output.erasure_requested = known.pk, known.erasure_requested
        output.predates_memory = known.predates_memory
        output.set_aside, output.replaces = known.set_aside, known.replaces
        # The others are left alone: PostgreSQL need not write a long question again.
        prepared.update([output], [name for name in ANSWER_FIELDS if getattr(output, name) != getattr(known, name)])
    else:
        prepared.insert([output])
    QuotedChat.objects.record(output, quoted)
    _count_output(bank, chat, new, at=at)
    prepared.update([chat], CHAT_COUNT_FIELDS)
    return output


def _to_row(chat: Chat, new: NewOutput, quoted: Sequence[Chat]) -> Output:
    """``new`` as an unsaved row without a sequence, storable in any database; ``chat`` gets the words it quotes."""
    pending = new.status == Output.Status.PENDING
    asked = new.created_at.astimezone(UTC)  # PostgreSQL refuses offsets such as +23:59
    private_quotes = private_words(chat, new, quoted)
    chat.quoted_words = sorted(private_quotes.union(chat.quoted_words))
    return Output(
        chat=chat,
        key=new.key,
        author=storable(new.author),
        said_by=new.said_by,
        answered_by=new.answered_by,
        question=storable(new.question),
        answer=storable(new.answer),
        messages=_storable_messages(new),
        metadata=dict(new.metadata),
        status=new.status,
        quotes_private=bool(private_quotes),
        replaces=list(new.replaces) if pending else [],
        created_at=asked,
        asked_at=asked if pending else None,
    )


def _storable_messages(new: NewOutput) -> list[Any]:
    return json.loads(storable(as_json(new.messages).replace("\\u0000", "\\ufffd"))) if new.messages else []


def _count_output(bank: Bank, chat: Chat, new: NewOutput, *, at: datetime) -> None:
    """Update ``chat`` for one more output; not saved yet."""
    chat.title = chat.title or storable(new.title[:200])
    _touch_chat(bank, chat, at=at.astimezone(UTC), counts=new.status == Output.Status.OK)


def _touch_chat(bank: Bank, chat: Chat, *, at: datetime, counts: bool = False) -> None:
    """Update ``chat``, which was active at ``at``; ``counts`` if one more turn is pending for memory. Not saved yet."""
    chat.last_output_at = max(chat.last_output_at or at, at)
    chat.pending_outputs = chat.pending_outputs + 1 if counts else chat.pending_outputs
    if counts and chat.parked_at:  # with new turns the summary may succeed
        chat.parked_at, chat.attempts = None, 0
    failing = chat.due_at if chat.attempts else None
    due = chat.next_due(bank)
    chat.due_at = max(due, failing) if due and failing else due
