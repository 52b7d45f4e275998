"""Writing an output down: validated, in one short transaction, without any model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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


def record(bank: Bank, new: NewOutput, *, now: datetime) -> tuple[Output, bool]:
    """The output and whether it is new; one with the same key in the same chat is recorded once."""
    new.require_valid(now)
    with transaction.atomic():
        # The lock makes ids grow in recording order, so that no watermark overtakes a turn, and
        # lets nobody switch the bank on without seeing that this turn waits.
        locked = Bank.objects.select_for_update().filter(pk=bank.pk).first()
        if locked is None:
            raise InvalidInput("The project has been deleted.")
        title = _storable(new.title[:200])
        chat, _ = Chat.objects.get_or_create(bank=locked, key=new.chat_key, defaults={"title": title})
        chat = Chat.objects.select_for_update().get(pk=chat.pk)  # a worker may hold its row, not the bank's
        known = chat.outputs.filter(key=new.key).first() if new.key else None
        return (known, False) if known else (_add(locked, chat, new), True)


def _add(bank: Bank, chat: Chat, new: NewOutput) -> Output:
    output = Output.objects.create(
        chat=chat,
        key=new.key,
        author=_storable(new.author),
        question=_storable(new.question),
        answer=_storable(new.answer),
        messages=json.loads(_storable(_as_json(new.messages).replace("\\u0000", "\\ufffd"))),
        status=new.status,
        created_at=new.created_at,
    )
    counts = new.status == Output.Status.OK
    chat.last_output_at = max(chat.last_output_at or new.created_at, new.created_at)
    chat.pending_outputs = chat.pending_outputs + 1 if counts else chat.pending_outputs
    if counts and chat.parked_at:  # new turns are a new chance
        chat.parked_at, chat.attempts = None, 0
    failing = chat.due_at if chat.attempts else None
    due = chat.next_due(bank)
    chat.due_at = max(due, failing) if due and failing else due
    chat.title = chat.title or _storable(new.title[:200])
    changed = ["last_output_at", "pending_outputs", "parked_at", "attempts", "due_at", "title"]
    chat.save(update_fields=changed)
    return output


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
