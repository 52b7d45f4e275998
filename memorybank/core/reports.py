"""Reports as plain values: of a worker's run, and of a line's weight. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class RunReport:
    """The counts of a run; ``seconds`` is its wall-clock time."""

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

    def __add__(self, other: RunReport) -> RunReport:
        """The sum of both runs; parked and due are those at the end of the second."""
        added = {name: value + getattr(other, name) for name, value in self.as_dict().items()}
        return RunReport(**{**added, "parked": other.parked, "due": other.due})


@dataclass(frozen=True, slots=True)
class FeatureValue:
    """One feature of a sentence: ``measure`` × ``weight`` is added to the log odds."""

    name: str
    measure: float
    weight: float


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """Extraction's view of one sentence. ``held_back`` says why no prompt would include it ("" if one would).

    ``worth`` is 0…1: the log odds of ``bias`` and ``features`` as a probability, times the share of each discount.
    """

    text: str
    kind: str
    too_short: bool
    held_back: str
    bias: float
    features: tuple[FeatureValue, ...]
    discounts: tuple[tuple[str, float], ...]
    worth: float
