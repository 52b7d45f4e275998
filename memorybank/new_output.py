"""A new output, and the result of its attempt: plain values, validated before anything is stored."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from django.utils import timezone

from memorybank.core import messages
from memorybank.exceptions import InvalidInput
from memorybank.models import Output

MAX_TEXT_CHARACTERS = 1_000_000
MAX_KEY_CHARACTERS = 200
#: Clocks differ; a turn may be this far ahead of ours.
MAX_CLOCK_SKEW = timedelta(minutes=5)
#: Short texts that may be missing.
MAX_METADATA_ENTRIES, MAX_METADATA_NAME, MAX_METADATA_VALUE = 16, 64, 500
OPTIONAL_NAMES = ("key", "said_by", "answered_by")
STATUSES: list[str] = Output.Status.values


@dataclass(frozen=True, slots=True)
class NewOutput:
    """An output to be recorded. Texts have at most ``MAX_TEXT_CHARACTERS``, keys and names ``MAX_KEY_CHARACTERS``.

    ``said_by`` and ``answered_by`` are for transcripts of talk between people: whom the author quotes, and who spoke in
    the model's place. The recording caller vouches for them; a text never says who speaks. ``replaces`` are the ids of
    outputs of the chat that are set aside as soon as this one is answered. ``metadata`` are labels of the application.
    ``private`` and ``readers`` say whom a chat is for that this output begins; without them the bank's default does. An
    existing chat stays as it is. ``begun_by`` identifies the program that begins a chat. ``private_words`` are those
    that the answer quotes from memory that not everybody may read.
    """

    chat_key: str
    author: str
    question: str
    created_at: datetime
    answer: str = ""
    messages: Sequence[Any] = ()
    status: str = Output.Status.OK
    key: str = ""
    title: str = ""
    said_by: str = ""
    answered_by: str = ""
    replaces: Sequence[int] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    private: bool | None = None
    readers: Sequence[str] = ()
    begun_by: str = ""
    private_words: Collection[str] = ()

    def people(self, *, private: bool) -> set[str]:
        """Whom a chat is for that this output begins, where new chats are ``private`` or not; empty: not said."""
        return set(self.readers) if (private if self.private is None else self.private) else set()

    def is_for(self, people: Collection[str]) -> bool:
        """Whether it may go into a chat for these people: one of them records it."""
        return not set(self.readers).isdisjoint(people)

    def require_valid(self, now: datetime) -> None:
        """Raise :class:`InvalidInput`, naming the field and the limit."""
        for name in ("chat_key", "author", "question", "answer", *OPTIONAL_NAMES, "title", "status"):
            if not isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name}: must be text, not {type(getattr(self, name)).__name__}.")
        self._require_keys()
        self._require_bounded()
        if self.status not in STATUSES:
            known = ", ".join(STATUSES)
            raise InvalidInput(f"status: “{self.status[:40]}” is not one of {known}.")
        self._require_time(now)

    def _require_keys(self) -> None:
        if not self.chat_key.strip():
            raise InvalidInput("chat: must not be empty.")
        for name in ("chat_key", "author", *OPTIONAL_NAMES):
            value = getattr(self, name)
            if len(value) > MAX_KEY_CHARACTERS:
                raise InvalidInput(f"{name}: {len(value):,} characters, at most {MAX_KEY_CHARACTERS} are allowed.")
            if value != storable(value):
                raise InvalidInput(f"{name}: must not contain a NUL character or half a surrogate pair.")

    def _require_bounded(self) -> None:
        sizes = {"question": len(self.question), "answer": len(self.answer)}
        messages.require_list(self.messages)
        if self.messages:
            sizes["messages"] = len(as_json(self.messages))
        for name, size in sizes.items():
            if size > MAX_TEXT_CHARACTERS:
                raise InvalidInput(f"{name}: {size:,} characters, at most {MAX_TEXT_CHARACTERS:,} are allowed.")
        messages.require_readable(self.messages)
        require_metadata(self.metadata)

    def _require_time(self, now: datetime) -> None:
        if not isinstance(self.created_at, datetime):
            raise InvalidInput("created_at: must be a time.")
        if timezone.is_naive(self.created_at):
            raise InvalidInput("created_at: has no time zone; write it like 2026-05-08T13:56:00Z.")
        if self.created_at.year < 1970:  # no chat is older, and the calendar's first days overflow
            raise InvalidInput(f"created_at: {self.created_at.isoformat()} is before 1970.")
        if self.created_at > now + MAX_CLOCK_SKEW:
            raise InvalidInput(f"created_at: {self.created_at.isoformat()} is in the future.")


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt. ``title`` is for a chat that has none; ``error`` says why there is no answer.

    ``messages`` were exchanged between question and answer.
    """

    status: str = Output.Status.OK
    answer: str = ""
    error: str = ""
    title: str = ""
    messages: Sequence[Any] = ()
    private_words: Collection[str] = ()

    def require_valid(self) -> None:
        """Raise :class:`InvalidInput` unless this ends an attempt."""
        if self.status not in STATUSES or self.status == Output.Status.PENDING:
            raise InvalidInput(f"status: “{self.status[:40]}” does not complete an output.")


def require_metadata(metadata: object) -> None:
    """Raise :class:`InvalidInput` unless these are a few labels: short names with a text, number, boolean or null."""
    if not isinstance(metadata, Mapping) or len(metadata) > MAX_METADATA_ENTRIES:
        raise InvalidInput(f"metadata: must be an object of at most {MAX_METADATA_ENTRIES} entries.")
    for name, value in metadata.items():
        if not isinstance(name, str) or not 0 < len(name) <= MAX_METADATA_NAME or name != storable(name):
            raise InvalidInput(f"metadata: a name must be text of 1 to {MAX_METADATA_NAME} characters.")
        if not isinstance(value, str | int | float | None):
            raise InvalidInput("metadata: a value must be a text, a number, a boolean or null.")
        if isinstance(value, float) and not isfinite(value):
            raise InvalidInput("metadata: a number must be finite.")
        if len(str(value)) > MAX_METADATA_VALUE or str(value) != storable(str(value)):
            raise InvalidInput(f"metadata: a value must have at most {MAX_METADATA_VALUE} storable characters.")


def as_json(messages: Sequence[Any]) -> str:
    """Messages as JSON; raises :class:`InvalidInput` if that is impossible."""
    try:
        return json.dumps(list(messages), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"messages: cannot be stored as JSON: {error}.") from error


def storable(text: str) -> str:
    """The text as every database can store it: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
