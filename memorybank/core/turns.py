"""Turns, utterances and new facts: plain values between the database and the pure functions."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from memorybank.safety.reasons import Reported

#: The model's name as a speaker. No account is shown under this name.
ASSISTANT_SPEAKER = "assistant"
#: The prefix of the speaker of a line in a model's own words; the names of the people it summarises follow.
NOTED_FROM = "noted from "
#: The speaker of a chat's notes where they stand beside sentences of its turns.
NOTES_SPEAKER = "noted"

#: The quarantine reason of a line that a model calls an instruction, and of all facts from its turns.
STEERS_ASSISTANT = "steers the assistant, says the model that noted it"

#: The quarantine reason of what one person likes for themselves: it is used for that person, and for nobody else.
OWN_PREFERENCE = "a preference of one person"


def speaker_names(speaker: str) -> list[str]:
    """The people whom a stored speaker names: of a note, those whom it was noted from."""
    noted = speaker.startswith(NOTED_FROM)
    return speaker.removeprefix(NOTED_FROM).split(", ") if noted else [speaker] if speaker else []


MessageRole = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of a turn. ``speaker`` is what a reader is shown: a name, or "assistant"."""

    role: MessageRole
    speaker: str
    text: str

    def by_machine(self) -> bool:
        """Whether the model wrote it, and not a person who answered in its place."""
        return self.role == "assistant" and self.speaker == ASSISTANT_SPEAKER


@dataclass(frozen=True, slots=True)
class Turn:
    """One recorded output. ``at`` is aware and already in the bank's time zone."""

    id: int
    at: datetime
    utterances: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class DraftFact:
    """A fact that is not stored yet.

    ``citations`` are output ids (in a leaf) or leaf-fact ids (in a digest). ``weight`` is its prior weight, 0…1,
    comparable across chats and between an LLM's facts and extracted ones. ``detail`` marks facts extracted beside an
    LLM's. ``quarantine`` is why it must not be shown ("" if it may). ``reported``: it is told in its speaker's name.
    ``part`` counts the parts in which a model read a long chat, from 0.
    """

    kind: str
    text: str
    speaker: str
    said_on: date
    citations: tuple[int, ...]
    weight: float = 0.5
    detail: bool = False
    quarantine: str = ""
    reported: Reported = Reported.NO
    part: int = 0
