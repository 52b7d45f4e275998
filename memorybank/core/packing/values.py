"""What goes into a block and what comes out."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

EARLIEST = datetime.min.replace(tzinfo=UTC)

#: What a fact costs beside its own tokens, on average: a share of its date and speaker.
LABEL = 3


class Said(Protocol):
    """What laying out needs to know of whatever is shown: its words, and where they stand."""

    @property
    def text(self) -> str: ...

    @property
    def label(self) -> str:
        """What opens its paragraph, such as "8 May 2023"."""

    @property
    def speaker(self) -> str: ...

    @property
    def era(self) -> tuple[object, ...]:
        """Paragraphs stand in this order."""

    @property
    def strand(self) -> object:
        """What has this in common stands together in a paragraph."""

    @property
    def order(self) -> tuple[object, ...]:
        """Whatever else is equal, this order holds."""


class Candidate(NamedTuple):
    """A fact that may be shown. A tuple, because a bank has tens of thousands.

    ``tier`` is that of the coarsest digest that has absorbed it, 0 for none. ``period``
    is the sortable key of that digest or conversation; ``label`` opens the paragraph ("8 May 2023");
    facts are spread over ``chat``; ``weight`` is the prior 0…1; ``tokens`` the length of the text (0:
    not known); ``detail`` says that it is a sentence of its turns and not a model's line, ``replaces`` that others
    gave way to it; ``restates`` are the leaf facts that a digest fact already says, ``turns`` the outputs
    that a leaf fact cites. Every ``at`` must be aware.
    """

    id: int
    text: str
    at: datetime
    tier: int = 0
    period: str = ""
    label: str = ""
    chat: str = ""
    restates: frozenset[int] = frozenset()
    turns: frozenset[int] = frozenset()
    speaker: str = ""
    weight: float = 0.5
    tokens: int = 0
    pinned: bool = False
    detail: bool = True
    replaces: bool = False

    @property
    def era(self) -> tuple[int, str]:
        """Coarsest tier first, then by period."""
        return -self.tier, self.period

    @property
    def strand(self) -> str:
        """A chat stays together."""
        return self.chat

    @property
    def order(self) -> tuple[datetime, int]:
        """By time."""
        return self.at, self.id


class Passage(NamedTuple):
    """A sentence of a turn that was recalled: not a fact, so it has no id, no worth and no tier.

    ``output`` is the turn, by id, and ``place`` the sentence's place in it; ``chat`` is the chat's id,
    ``chat_key`` its key. ``at`` is when the turn was recorded and must be aware; ``label`` opens the paragraph.
    It was recalled for the words ``asked`` of the question, and perhaps because its speaker is ``named``; ``rank`` is
    its turn's, 1 for the best, 0 if it stands there for another. ``behind`` are output and place of passages without
    which it is not told.
    """

    output: int
    place: int
    text: str
    at: datetime
    chat: int = 0
    chat_key: str = ""
    label: str = ""
    speaker: str = ""
    asked: tuple[str, ...] = ()
    named: bool = False
    rank: int = 0
    behind: tuple[tuple[int, int], ...] = ()

    @property
    def day(self) -> str:
        """The day of the turn, as 2023-05-08."""
        return f"{self.at:%Y-%m-%d}"

    @property
    def era(self) -> tuple[str, int]:
        """By day; the chats of a day stand apart."""
        return self.day, self.chat

    @property
    def strand(self) -> int:
        """A turn stays together."""
        return self.output

    @property
    def order(self) -> tuple[datetime, int, int]:
        """As it was said."""
        return self.at, self.output, self.place


class Line(NamedTuple):
    """One shown fact. ``ids`` are all the facts it stands for: itself first, then those that say the same.

    ``section`` is the part of the block it stands in, ``cost`` its tokens without date and speaker.
    """

    ids: tuple[int, ...]
    text: str
    tier: int
    period: str
    label: str = ""
    chat: str = ""
    speaker: str = ""
    restates: frozenset[int] = frozenset()
    at: datetime = EARLIEST
    section: str = ""
    cost: int = 0


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """The text for the prompt, its exact length, and every fact in it in the order shown.

    ``reserve`` holds what would be said next, best first: it fills the place of lines that somebody must not see.
    """

    text: str = ""
    tokens: int = 0
    lines: tuple[Line, ...] = ()
    reserve: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """Recalled notes for the prompt, their exact length, and every passage in the order shown."""

    text: str = ""
    tokens: int = 0
    passages: tuple[Passage, ...] = ()
