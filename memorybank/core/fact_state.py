"""The current state of a leaf fact, as decisions on its turns' sentences need it. Pure."""

from datetime import date
from typing import NamedTuple


class ReplacingFact(NamedTuple):
    """A leaf fact that superseded another: its text, its day, and the outputs that it cites."""

    text: str
    day: date
    citations: tuple[int, ...]


class FactState(NamedTuple):
    """The current state of a leaf fact: whether it may be shown, and what corrected or replaced it."""

    pk: int
    original_text: str
    """Its text before it was edited."""
    citations: tuple[int, ...]
    is_visible: bool
    quarantine: str
    speaker: str
    text: str
    weight: float
    is_released: bool = False
    """A person released it from quarantine."""
    correction: tuple[str, str] | None = None
    """Speaker and text of a person's correction, of the fact or of a digest's line that rests on it."""
    end: ReplacingFact | None = None
    """The newer fact, if it is the only reason not to show this one."""
    is_note: bool = False
    """A model or a person wrote it as a note of its chat."""
    reported: int = 0
    """How far it is told in its speaker's name and in quotes: see ``Reported``."""
