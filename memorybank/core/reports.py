"""Reports as plain values: of a worker's run, of an erasure, and of a line's weight. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

#: The counts of a receipt, in the order of the work: first what is deleted, then what is rebuilt.
RECEIPT_COUNTS = (
    *("chats", "turns", "halves_of_turns", "summaries", "facts", "digests", "digest_lines", "documents", "vectors"),
    *("masked_values", "blocks", "past_lines", "checkpoints", "summaries_to_mend", "digests_to_mend", "calls"),
)


@dataclass(slots=True)
class RunReport:
    """The counts of a run; ``seconds`` of wall clock."""

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


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """The counts of an erasure or its dry run. About ``calls`` model calls will follow; ``epoch`` is the new one."""

    id: int | None
    kind: str
    asked_by: str
    at: datetime
    epoch: int
    dry_run: bool
    counts: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        """For ``--json`` and for pages."""
        named = {name: getattr(self, name) for name in ("id", "kind", "asked_by", "at", "epoch", "dry_run")}
        return {**named, **{name: self.counts.get(name, 0) for name in RECEIPT_COUNTS}}
