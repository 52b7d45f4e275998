"""What is reported: what a run did, what a line is worth. Plain values. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Report:
    """What a run did. Counts; ``seconds`` of wall clock."""

    summarised: int = 0
    rolled_up: int = 0
    failed: int = 0
    parked: int = 0
    due: int = 0
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, int | float]:
        """For ``--json``."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}

    def __add__(self, other: Report) -> Report:
        """Both runs together; what is parked and due is what was at the end of the second."""
        added = {name: value + getattr(other, name) for name, value in self.as_dict().items()}
        return Report(**{**added, "parked": other.parked, "due": other.due})


@dataclass(frozen=True, slots=True)
class Measured:
    """One feature of a sentence: ``measure`` × ``weight`` is what it adds to the log odds."""

    name: str
    measure: float
    weight: float


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """What extraction makes of one sentence. ``held_back`` says why no prompt would get it ("": one would).

    ``worth`` is 0…1: the log odds of ``bias`` and ``features`` as a probability, times the share of each discount.
    """

    text: str
    kind: str
    too_short: bool
    held_back: str
    bias: float
    features: tuple[Measured, ...]
    discounts: tuple[tuple[str, float], ...]
    worth: float
