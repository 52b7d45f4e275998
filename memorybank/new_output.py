"""A new output, and the result of an attempt to answer it: plain values, validated before anything is stored."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from django.utils import timezone

from memorybank.core import messages
from memorybank.core.quotes import NO_QUOTES, Quotes
from memorybank.exceptions import InvalidInput
from memorybank.models import Output

MAX_TEXT_CHARACTERS = 1_000_000
MAX_KEY_CHARACTERS = 200
#: A turn's time may be this far in the future, because clocks differ.
MAX_CLOCK_SKEW = timedelta(minutes=5)
#: Limits of metadata: number of entries, and characters of a name and of a value.
MAX_METADATA_ENTRIES, MAX_METADATA_NAME, MAX_METADATA_VALUE = 16, 64, 500
#: Optional short texts.
OPTIONAL_NAMES = ("key", "said_by", "answered_by")
STATUSES: list[str] = Output.Status.values


@dataclass(frozen=True, slots=True)
class NewOutput:
    """An output to be recorded. Texts have at most ``MAX_TEXT_CHARACTERS``, keys and names ``MAX_KEY_CHARACTERS``.

    ``said_by`` and ``answered_by`` are for transcripts of conversations between people: the speaker whom the author
    quotes, and the speaker who answered instead of the model. The caller is responsible for them; they are never parsed
    from text. ``replaces`` are ids of outputs of the chat that are set aside once this one is answered. ``metadata``
    are the application's labels. ``key_is_fingerprint``: the key only tells which words these are, so after an erasure
    somebody may say them again. ``private`` (None: the bank's default), ``readers`` and ``begun_by``, the program,
    apply only if this output begins a chat. ``quotes`` is what the answer repeats from the memory in its prompt.
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
    key_is_fingerprint: bool = False
    private: bool | None = None
    readers: Sequence[str] = ()
    begun_by: str = ""
    quotes: Quotes = NO_QUOTES

    def people(self, *, private: bool) -> set[str]:
        """The readers of a chat that this output begins, empty if it is public; ``private`` is the bank's default."""
        return set(self.readers) if (private if self.private is None else self.private) else set()

    def is_for(self, people: Collection[str]) -> bool:
        """Whether one of its readers is among ``people``, the readers of a private chat."""
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
            raise InvalidInput(f"status: must be one of {known}.")
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
        if self.created_at.year < 1970:  # no chat is older, and dates near year 1 overflow
            raise InvalidInput("created_at: is before 1970.")
        if self.created_at > now + MAX_CLOCK_SKEW:
            raise InvalidInput("created_at: is in the future.")


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt to answer. ``error`` says why there is no answer.

    ``title`` is used if the chat has none. ``messages`` are those between question and answer, such as tool calls.
    """

    status: str = Output.Status.OK
    answer: str = ""
    error: str = ""
    title: str = ""
    messages: Sequence[Any] = ()
    quotes: Quotes = NO_QUOTES

    def require_valid(self) -> None:
        """Raise :class:`InvalidInput` if the status is unknown or pending."""
        if self.status not in STATUSES or self.status == Output.Status.PENDING:
            raise InvalidInput("status: does not complete an output.")


def require_metadata(metadata: object) -> None:
    """Raise :class:`InvalidInput` unless ``metadata`` maps a few short names to texts, numbers, booleans or null."""
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
    """Serialise messages as JSON; raise :class:`InvalidInput` if JSON cannot represent them."""
    try:
        return json.dumps(list(messages), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("messages: cannot be stored as JSON.") from error


def storable(text: str) -> str:
    """Replace NUL characters and lone surrogates, which not every database can store."""
    text = text.replace("\x00", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
