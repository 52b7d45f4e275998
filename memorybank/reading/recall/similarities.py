"""Scale how similar in meaning turns are to a question by the average of their bank. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines (−1…1) of a question with some turns, and their mean and maximum over all turns of the bank."""

    cosines: Mapping[int, float] = field(default_factory=dict)
    ordinary: float = 0.0
    nearest: float = 0.0

    def relative(self) -> dict[int, float]:
        """Cosines scaled: 0 for the bank's average turn or worse, 1 for the nearest.

        The cosine of unrelated texts depends on the model: .05 or .75. If all turns are equally near, all are 1.
        """
        spread = self.nearest - self.ordinary
        if spread <= 0:
            return dict.fromkeys(self.cosines, 1.0)
        return {pk: max(0.0, cosine - self.ordinary) / spread for pk, cosine in self.cosines.items()}
