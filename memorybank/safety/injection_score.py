"""Score how likely a sentence instructs a model: weights of its topics and of pairs of topics.

The weights were fitted to texts with and without instructions to a model (``benchmarks/weighing.py`` writes them) and
do not depend on a language. With a score above zero a sentence is more likely an attack than not.
"""

import math
import tomllib
from collections.abc import Collection
from functools import cache
from itertools import combinations
from pathlib import Path

WEIGHTS_FILE = Path(__file__).with_name("weights.toml")
#: A quarantined sentence must score more than this, because quarantining harmless lines harms memory.
MIN_LOG_ODDS = 0.8
#: In a longer text one sentence reaches the score by chance: from this many sentences on the bound rises by the log of
#: their number, as weights are log odds.
MAX_UNCORRECTED_SENTENCES = 4


def is_injection(topics: Collection[str], sentence_count: int = 1) -> bool:
    """Whether a sentence with these topics, the heaviest of ``sentence_count``, instructs a model."""
    weights = _weights()
    together = (frozenset(pair) for pair in combinations(topics, 2))
    alone = sum(weights.get(frozenset([topic]), 0) for topic in topics)
    needed = MIN_LOG_ODDS + math.log(max(1, sentence_count / MAX_UNCORRECTED_SENTENCES))
    return alone + sum(weights.get(pair, 0) for pair in together) + weights[frozenset()] > needed


def heaviest(topics: Collection[str]) -> list[str]:
    """The topics, those with the highest weight of their own first."""
    return sorted(topics, key=lambda topic: (-_weights().get(frozenset([topic]), 0), topic))


@cache
def _weights() -> dict[frozenset[str], float]:
    """Weights by topics: of no topic (the constant of every sentence), one, or two."""
    raw = tomllib.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    return {frozenset(topics.split()): hundredths / 100 for topics, hundredths in raw["weights"].items()}
