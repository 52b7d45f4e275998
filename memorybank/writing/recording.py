"""Writing an output down and completing it: validated, in one short transaction, without any model."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from django.db import transaction
from django.utils.translation import gettext as _

from memorybank.clock import PRESENT, at_present
from memorybank.erasure.tombstones import not_erased
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Chat, Output
from memorybank.new_output import AttemptResult, NewOutput, as_json, storable

#: What a new output may change of its chat.
COUNTED = ["last_output_at", "pending_outputs", "parked_at", "attempts", "due_at", "title"]
#: What an answer sets of the row of its message.
COMPLETED = (
    "sequence author said_by answered_by question answer messages status error replaces created_at asked_at".split()
)
#: A chat's id and an output's key in it.
Place = tuple[int, str]


def record(bank: Bank, new: NewOutput, *, now: datetime) -> tuple[Output, bool]:
    """The output and whether it is new; one with the same key in the same chat is recorded once.

    A known one that nobody answered is completed by ``new`` if that is ok. :class:`InvalidInput` if it was erased.
    """
    new.require_valid(now)
    with transaction.atomic():
        locked = _lock(bank)
        if not not_erased(locked, [new]):
            raise InvalidInput(_("created_at: what was said there up to then has been erased."))
        title = storable(new.title[:200])
        chat, _new = Chat.objects.get_or_create(bank=locked, key=new.chat_key, defaults={"title": title})
        chat = Chat.objects.select_for_update().get(pk=chat.pk)  # a worker may hold its row, not the bank's
        known = chat.outputs.with_keys([new.key]).first() if new.key else None
        if known and not _answers(new, known):
            return known, False
        output = _write(locked, chat, new, known, at=new.created_at)
        if new.status in (Output.Status.OK, Output.Status.PENDING) and not output.withheld:
            _hear(locked, output, now)
        return output, True


@at_present
def record_many(bank: Bank, many: Sequence[NewOutput], *, now: datetime = PRESENT) -> list[Output | None]:
    """What was recorded of ``many``, in their order: each output, or None where it was there before or is erased.

    By the rules of :func:`record`, in one transaction with few queries. Whatever it raises, none is recorded.
    """
    for new in many:
        new.require_valid(now)
    with transaction.atomic():
        locked = _lock(bank)
        taken = not_erased(locked, many)
        chats = _chats(locked, taken)
        known = Output.objects.known((chats[new.chat_key].pk, new.key) for new in taken if new.key)
        of_taken = _made(taken, chats, known)
        by_new = dict(zip(map(id, taken), of_taken, strict=True))  # by identity: equal ones may be told twice
        made = [by_new.get(id(new)) for new in many]
        # By identity: rows without an id have no equality. In the order in which each was told last.
        written = list({id(output): output for output in reversed(made) if output}.values())[::-1]
        for row, sequence in zip(written, locked.draw(len(written)), strict=True):
            row.sequence = sequence
        Output.objects.bulk_update([output for output in written if output.pk], COMPLETED)
        Output.objects.bulk_create([output for output in written if not output.pk])
        for new, output in zip(many, made, strict=True):
            if output:
                _count(locked, chats[new.chat_key], new, at=new.created_at)
        grown = {output.chat_id for output in written}
        Chat.objects.store((chat for chat in chats.values() if chat.pk in grown), COUNTED)
    return made


def _made(many: Sequence[NewOutput], chats: dict[str, Chat], known: dict[Place, Output]) -> list[Output | None]:
    """Of each a row, without a place and not saved yet, or None where it is known; an answer has its message's row."""
    made: list[Output | None] = []
    for new in many:
        chat = chats[new.chat_key]
        before = known.get((chat.pk, new.key)) if new.key else None
        if before and not _answers(new, before):
            made.append(None)
            continue
        output = _output(chat, new)
        if before:
            for name in COMPLETED:
                setattr(before, name, getattr(output, name))
            output = before
        made.append(output)
        known[chat.pk, new.key] = output
    return made


def _hear(bank: Bank, output: Output, now: datetime) -> None:
    from memorybank.erasure import requests  # the words of all languages, which no other command needs

    requests.hear(bank, output, now)


@at_present
def ask_again(bank: Bank, output_id: int, *, now: datetime = PRESENT) -> Output:
    """A new attempt at an output that is not ok: it is pending, as of ``now``, and still there only once.

    Raises :class:`InvalidInput` if there is nothing to ask any more.
    """
    with transaction.atomic():
        locked = _lock(bank)
        output = Output.objects.unanswered().filter(pk=output_id, chat__bank=locked).select_related("chat").first()
        if output is None:
            raise InvalidInput(_("message: it has been answered or erased meanwhile."))
        output.status, output.asked_at, output.error = Output.Status.PENDING, now, ""
        output.save(update_fields=["status", "asked_at", "error"])
        chat = Chat.objects.select_for_update().get(pk=output.chat_id)
        _note(locked, chat, at=now)
        chat.save(update_fields=COUNTED)
    return output


def complete(bank: Bank, output: Output, outcome: AttemptResult, *, now: datetime) -> Output:
    """What became of an attempt at ``output``: the output as it is now.

    The first answer wins, whichever attempt it comes from; a failure counts if it is that of the latest
    attempt. An answered output stands after all others of its bank, so that no watermark has passed it. Raises
    :class:`InvalidInput` if it has been erased meanwhile, and writes nothing.
    """
    outcome.require_valid()
    with transaction.atomic():
        locked = _lock(bank)
        chat = Chat.objects.select_for_update().filter(pk=output.chat_id, bank=locked).first()
        known = chat.outputs.filter(pk=output.pk).first() if chat else None
        if chat is None or known is None:
            raise InvalidInput(_("message: it was erased before it was answered."))
        if known.status == Output.Status.OK:
            return known
        if outcome.status == Output.Status.OK:
            return _answer(locked, chat, known, outcome, now)
        if known.asked_at == output.asked_at:
            known.status, known.error = outcome.status, storable(outcome.error[:500])
            known.save(update_fields=["status", "error"])
        return known


def _answers(new: NewOutput, known: Output) -> bool:
    """Whether a known output was never answered and now is."""
    return known.status != Output.Status.OK and new.status == Output.Status.OK


def _lock(bank: Bank) -> Bank:
    """The bank, held until the transaction ends.

    So sequences grow in the order in which turns become ok, and no watermark overtakes one; and nobody switches
    the bank on without seeing that a turn waits.
    """
    locked = Bank.objects.select_for_update().filter(pk=bank.pk).first()
    if locked is None:
        raise InvalidInput(_("The project has been deleted."))
    return locked


def _chats(bank: Bank, many: Iterable[NewOutput]) -> dict[str, Chat]:
    """The chats of ``many`` by key, held, those that were missing created."""
    keys = dict.fromkeys(new.chat_key for new in many)
    held = Chat.objects.select_for_update().filter(bank=bank, key__in=keys).order_by("pk")
    found = {chat.key: chat for chat in held}
    missing = [Chat(bank=bank, key=key) for key in keys if key not in found]
    return found | {chat.key: chat for chat in Chat.objects.bulk_create(missing)}


def _answer(bank: Bank, chat: Chat, known: Output, outcome: AttemptResult, now: datetime) -> Output:
    from memorybank.erasure import requests

    said = f"\n\n{notice}" if (notice := requests.notice(known)) else ""
    answered = NewOutput(
        chat_key=chat.key,
        author=known.author,
        said_by=known.said_by,
        answered_by=known.answered_by,
        question=known.question,
        created_at=known.created_at,
        answer=f"{outcome.answer}{said}",
        messages=outcome.messages or known.messages,
        key=known.key,
        title=outcome.title,
    )
    answered.require_valid(now)
    return _write(bank, chat, answered, known, at=now)


def _write(bank: Bank, chat: Chat, new: NewOutput, known: Output | None, *, at: datetime) -> Output:
    """Insert it, or complete the ``known`` one; ``at`` is when the chat was last busy with it."""
    output = _output(chat, new)
    [output.sequence] = bank.draw(1)
    if known:
        output.pk, output.withheld, output.left_out = known.pk, known.withheld, known.left_out
    output.save(force_insert=not known, update_fields=COMPLETED if known else None)
    _count(bank, chat, new, at=at)
    chat.save(update_fields=COUNTED)
    return output


def _output(chat: Chat, new: NewOutput) -> Output:
    """``new`` as a row that any database can hold, without a place and not saved yet."""
    awaited = new.status == Output.Status.PENDING
    asked = new.created_at.astimezone(UTC)  # PostgreSQL refuses offsets such as +23:59
    return Output(
        chat=chat,
        key=new.key,
        author=storable(new.author),
        said_by=new.said_by,
        answered_by=new.answered_by,
        question=storable(new.question),
        answer=storable(new.answer),
        messages=json.loads(storable(as_json(new.messages).replace("\\u0000", "\\ufffd"))) if new.messages else [],
        status=new.status,
        replaces=list(new.replaces) if awaited else [],
        created_at=asked,
        asked_at=asked if awaited else None,
    )


def _count(bank: Bank, chat: Chat, new: NewOutput, *, at: datetime) -> None:
    """What becomes of ``chat`` with one more output; not saved yet."""
    chat.title = chat.title or storable(new.title[:200])
    _note(bank, chat, at=at.astimezone(UTC), counts=new.status == Output.Status.OK)


def _note(bank: Bank, chat: Chat, *, at: datetime, counts: bool = False) -> None:
    """The chat was busy at ``at``; ``counts`` if one more turn waits to become memory. Not saved yet."""
    chat.last_output_at = max(chat.last_output_at or at, at)
    chat.pending_outputs = chat.pending_outputs + 1 if counts else chat.pending_outputs
    if counts and chat.parked_at:  # new turns are a new chance
        chat.parked_at, chat.attempts = None, 0
    failing = chat.due_at if chat.attempts else None
    due = chat.next_due(bank)
    chat.due_at = max(due, failing) if due and failing else due
