"""What goes into a block and what comes out."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

EARLIEST = datetime.min.replace(tzinfo=UTC)


class Candidate(NamedTuple):
    """A fact that may be shown. A tuple, because a bank has tens of thousands.

    ``tier`` is the coarsest digest that has absorbed it: 0 month, 1 week, 2 day, 3 none yet. ``period``
    is the sortable key of that digest or conversation; ``label`` opens the paragraph ("8 May 2023");
    facts are spread over ``chat``; ``weight`` is the prior 0…1; ``tokens`` the length of the text (0:
    not known); ``restates`` the leaf facts that a digest fact already says. Every ``at`` must be aware.
    """

    id: int
    text: str
    at: datetime
    tier: int = 3
    period: str = ""
    label: str = ""
    chat: str = ""
    speaker: str = ""
    weight: float = 0.5
    tokens: int = 0
    pinned: bool = False
    restates: frozenset[int] = frozenset()


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
class Block:
    """The text for the prompt, its exact length, and every fact in it in the order shown.

    ``reserve`` holds what would be said next, best first: it fills the place of lines that somebody must not see.
    """

    text: str = ""
    tokens: int = 0
    lines: tuple[Line, ...] = ()
    reserve: tuple[Line, ...] = ()
