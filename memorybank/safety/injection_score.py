"""How much it weighs what a sentence speaks of: by topic, and by two topics together.

The numbers were fitted to texts that tell a model what to do and to others that do not (``benchmarks/weighing.py``
writes them), and know no language. Above nothing, more such sentences are attacks than are not.
"""

import math
import tomllib
from collections.abc import Collection
from functools import cache
from itertools import combinations
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights.toml")
#: What is held back must weigh more than this: who holds back what is harmless harms memory.
HEAVY = 0.8
#: Of more sentences one weighs that much by chance: weights are in log odds, so it has to weigh more by as much.
FEW = 4


def is_heavy(topics: Collection[str], among: int = 1) -> bool:
    """Whether a sentence that speaks of these, the heaviest ``among`` so many, tells a model what to do."""
    weights = _weights()
    together = (frozenset(pair) for pair in combinations(topics, 2))
    alone = sum(weights.get(frozenset([topic]), 0) for topic in topics)
    needed = HEAVY + math.log(max(1, among / FEW))
    return alone + sum(weights.get(pair, 0) for pair in together) + weights[frozenset()] > needed


def heaviest(topics: Collection[str]) -> list[str]:
    """The topics, by what each weighs alone."""
    return sorted(topics, key=lambda topic: (-_weights().get(frozenset([topic]), 0), topic))


@cache
def _weights() -> dict[frozenset[str], float]:
    """By topics: none (what every sentence weighs), one, or two."""
    raw = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))
    return {frozenset(topics.split()): hundredths / 100 for topics, hundredths in raw["weights"].items()}
