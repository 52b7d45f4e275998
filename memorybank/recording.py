"""Writing an output down and completing it: validated, in one short transaction, without any model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from .exceptions import InvalidInput
from .models import Bank, Chat, Output, SearchDocument, StoredBlock

MAX_TEXT = 1_000_000
MAX_KEY = 200
#: Clocks differ; a turn may be this far ahead of ours.
CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class NewOutput:
    """An output to be recorded. Texts at most ``MAX_TEXT`` characters, keys at most ``MAX_KEY``."""

    chat_key: str
    author: str
    question: str
    created_at: datetime
    answer: str = ""
    messages: Sequence[Any] = ()
    status: str = Output.Status.OK
    key: str = ""
    title: str = ""

    def require_valid(self, now: datetime) -> None:
        """Raise :class:`InvalidInput`, naming the field and the limit."""
        for name in ("chat_key", "author", "question", "answer", "key", "title", "status"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name}: must be text, not {type(getattr(self, name)).__name__}.")
        self._require_keys()
        self._require_bounded()
        if self.status not in Output.Status.values:
            known = ", ".join(Output.Status.values)
            raise InvalidInput(f"status: “{self.status[:40]}” is not one of {known}.")
        self._require_time(now)

    def _require_keys(self) -> None:
        if not self.chat_key.strip():
            raise InvalidInput("chat: must not be empty.")
        for name in ("chat_key", "author", "key"):
            value = getattr(self, name)
            if len(value) > MAX_KEY:
                raise InvalidInput(f"{name}: {len(value):,} characters, at most {MAX_KEY} are allowed.")
            if value != _storable(value):
                raise InvalidInput(f"{name}: must not contain a NUL character or half a surrogate pair.")

    def _require_bounded(self) -> None:
        sizes = {"question": len(self.question), "answer": len(self.answer)}
        if not isinstance(self.messages, list | tuple):
            raise InvalidInput("messages: must be a list of chat messages.")
        if self.messages:
            sizes["messages"] = len(_as_json(self.messages))
        for name, size in sizes.items():
            if size > MAX_TEXT:
                raise InvalidInput(f"{name}: {size:,} characters, at most {MAX_TEXT:,} are allowed.")

    def _require_time(self, now: datetime) -> None:
        if not isinstance(self.created_at, datetime):
            raise InvalidInput("created_at: must be a time.")
        if timezone.is_naive(self.created_at):
            raise InvalidInput("created_at: has no time zone; write it like 2026-05-08T13:56:00Z.")
        if self.created_at.year < 1970:  # no chat is older, and the calendar's first days overflow
            raise InvalidInput(f"created_at: {self.created_at.isoformat()} is before 1970.")
        if self.created_at > now + CLOCK_SKEW:
            raise InvalidInput(f"created_at: {self.created_at.isoformat()} is in the future.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of asking. ``title`` is the chat's if it has none, ``error`` why there is no answer."""

    status: str = Output.Status.OK
    answer: str = ""
    error: str = ""
    title: str = ""

    def require_valid(self) -> None:
        """Raise :class:`InvalidInput` unless this ends an attempt."""
        if self.status not in Output.Status.values or self.status == Output.Status.PENDING:
            raise InvalidInput(f"status: “{self.status[:40]}” does not complete an output.")


def record(bank: Bank, new: NewOutput, *, now: datetime) -> tuple[Output, bool]:
    """The output and whether it is new; one with the same key in the same chat is recorded once.

    A known one that nobody answered gives way to ``new`` if that is ok.
    """
    new.require_valid(now)
    with transaction.atomic():
        locked = _lock(bank)
        title = _storable(new.title[:200])
        chat, _ = Chat.objects.get_or_create(bank=locked, key=new.chat_key, defaults={"title": title})
        chat = Chat.objects.select_for_update().get(pk=chat.pk)  # a worker may hold its row, not the bank's
        known = chat.outputs.filter(key=new.key).first() if new.key else None
        if known and (known.status == Output.Status.OK or new.status != Output.Status.OK):
            return known, False
        if known:
            known.delete()
        return _add(locked, chat, new, at=new.created_at), True


def ask_again(bank: Bank, output_id: int, *, now: datetime) -> Output:
    """A new attempt at an output that is not ok: it is pending, as of ``now``, and still there only once.

    Raises :class:`InvalidInput` if there is nothing to ask any more.
    """
    with transaction.atomic():
        locked = _lock(bank)
        output = Output.objects.unanswered().filter(pk=output_id, chat__bank=locked).select_related("chat").first()
        if output is None:
            raise InvalidInput("message: it has been answered or erased meanwhile.")
        output.status, output.asked_at, output.error = Output.Status.PENDING, now, ""
        output.key = output.key or _new_key()
        output.save(update_fields=["status", "asked_at", "error", "key"])
        _note(locked, Chat.objects.select_for_update().get(pk=output.chat_id), at=now)
    return output


def complete(bank: Bank, output: Output, outcome: Outcome, *, now: datetime) -> Output:
    """What became of an attempt at ``output``: the output as it is now.

    The first answer wins, whichever attempt it comes from; a failure counts if it is that of the latest
    attempt. An answered output is a new row, so that no watermark has passed it. Raises
    :class:`InvalidInput` if it has been erased meanwhile, and writes nothing.
    """
    outcome.require_valid()
    with transaction.atomic():
        locked = _lock(bank)
        chat = Chat.objects.select_for_update().filter(pk=output.chat_id, bank=locked).first()
        known = chat.outputs.filter(key=output.key).exclude(key="").first() if chat else None
        if chat is None or known is None:
            raise InvalidInput("message: it was erased before it was answered.")
        if known.status == Output.Status.OK:
            return known
        if outcome.status == Output.Status.OK:
            return _answer(locked, chat, known, outcome, now)
        if known.asked_at == output.asked_at:
            known.status, known.error = outcome.status, _storable(outcome.error[:500])
            known.save(update_fields=["status", "error"])
        return known


def _lock(bank: Bank) -> Bank:
    """The bank's row, locked: ids grow in the order in which turns become memory's, so that no watermark overtakes
    one, and nobody switches the bank on without seeing that a turn waits."""
    locked = Bank.objects.select_for_update().filter(pk=bank.pk).first()
    if locked is None:
        raise InvalidInput("The project has been deleted.")
    return locked


def _new_key() -> str:
    """What an output that waits for its answer is known by, as its id will change."""
    return uuid4().hex


def _answer(bank: Bank, chat: Chat, known: Output, outcome: Outcome, now: datetime) -> Output:
    answered = NewOutput(
        chat_key=chat.key,
        author=known.author,
        question=known.question,
        created_at=known.created_at,
        answer=outcome.answer,
        messages=known.messages,
        key=known.key,
        title=outcome.title,
    )
    answered.require_valid(now)
    known.delete()
    return _add(bank, chat, answered, at=now)


def _add(bank: Bank, chat: Chat, new: NewOutput, *, at: datetime) -> Output:
    """Insert it; ``at`` is when the chat was last busy with it."""
    awaited = new.status == Output.Status.PENDING
    output = Output.objects.create(
        chat=chat,
        key=new.key or (_new_key() if awaited else ""),
        author=_storable(new.author),
        question=_storable(new.question),
        answer=_storable(new.answer),
        messages=json.loads(_storable(_as_json(new.messages).replace("\\u0000", "\\ufffd"))),
        status=new.status,
        created_at=new.created_at,
        asked_at=new.created_at if awaited else None,
    )
    chat.title = chat.title or _storable(new.title[:200])
    _note(bank, chat, at=at, counts=new.status == Output.Status.OK)
    return output


def _note(bank: Bank, chat: Chat, *, at: datetime, counts: bool = False) -> None:
    """The chat was busy at ``at``; ``counts`` if one more turn waits to become memory."""
    chat.last_output_at = max(chat.last_output_at or at, at)
    chat.pending_outputs = chat.pending_outputs + 1 if counts else chat.pending_outputs
    if counts and chat.parked_at:  # new turns are a new chance
        chat.parked_at, chat.attempts = None, 0
    failing = chat.due_at if chat.attempts else None
    due = chat.next_due(bank)
    chat.due_at = max(due, failing) if due and failing else due
    changed = ["last_output_at", "pending_outputs", "parked_at", "attempts", "due_at", "title"]
    chat.save(update_fields=changed)


def _as_json(messages: Sequence[Any]) -> str:
    try:
        return json.dumps(list(messages), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"messages: cannot be stored as JSON: {error}.") from error


def _storable(text: str) -> str:
    """What every database can hold: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def set_private(bank: Bank, *, chat_key: str, private: bool) -> Chat:
    """Keep a chat out of memory, or let it in again; its turns stay. Its words leave the stored block at once."""
    with transaction.atomic():
        bank = Bank.objects.select_for_update().get(pk=bank.pk)
        chat = Chat.objects.select_for_update().get(bank=bank, key=chat_key)
        chat.private = private
        chat.due_at = chat.next_due(bank)
        if private:
            SearchDocument.objects.filter(chat=chat).delete()
            chat.indexed_through = 0
        chat.index_due = bank.enabled and not private and chat.summarised_through > chat.indexed_through
        chat.save(update_fields=["private", "due_at", "indexed_through", "index_due"])
        StoredBlock.objects.withdraw(bank, chats=[chat.key] if private else [])
    return chat
