"""What goes into a block and what comes out."""

from dataclasses import dataclass
from datetime import datetime

TIERS = ("month", "week", "day", "conversation")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may be shown.

    ``tier`` 0…3 is the coarsest digest that has absorbed it (TIERS), ``period`` its sortable key there;
    ``label`` opens its paragraph ("8 May 2023"); ``chat`` is what facts are spread over; ``tokens`` its
    length ("" = unknown: 0); ``restates`` the leaf facts that this digest fact already says.
    """

    id: int
    text: str
    at: datetime
    tier: int = 3
    period: str = ""
    label: str = ""
    chat: str = ""
    speaker: str = ""
    kind: str = "fact"
    weight: float = 0.5
    tokens: int = 0
    pinned: bool = False
    restates: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """One shown fact. ``ids`` are all the facts it stands for: itself first, then its near duplicates."""

    ids: tuple[int, ...]
    text: str
    tier: int
    period: str
    label: str = ""
    chat: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The text for the prompt, its exact length, and every fact in it in the order shown."""

    text: str = ""
    tokens: int = 0
    lines: tuple[Line, ...] = ()
