"""A turn as memory reads it: plain values between the database and the pure functions."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

#: The model, as a speaker. No account is shown under this name.
ASSISTANT = "assistant"
#: Before the names of those whose turns a model noted a line from, as its speaker.
NOTED = "noted from "

#: Why what a model calls an instruction is held back, with all that its turns say.
STEERS = "steers the assistant, says the model that noted it"

Role = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a turn. ``speaker`` is what a reader is shown: a name, or "assistant"."""

    role: Role
    speaker: str
    text: str

    def by_machine(self) -> bool:
        """Whether the model said it, not a person whose words came in the model's place."""
        return self.role == "assistant" and self.speaker == ASSISTANT


@dataclass(frozen=True, slots=True)
class Turn:
    """One recorded output. ``at`` is aware and already in the bank's time zone."""

    id: int
    at: datetime
    utterances: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact on its way into an entry.

    ``citations`` are output ids (in a leaf) or leaf-fact ids (in a digest). ``weight`` is its prior
    worth, 0…1, comparable across chats and between an LLM's facts and extracted ones. ``detail``
    marks facts extracted beside an LLM's. ``quarantine`` is why it must not be shown ("" = fine).
    """

    kind: str
    text: str
    speaker: str
    said_on: date
    citations: tuple[int, ...]
    weight: float = 0.5
    detail: bool = False
    quarantine: str = ""
