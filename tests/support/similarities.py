"""Similarities made from given cosines."""

from collections.abc import Mapping
from statistics import fmean

from memorybank.reading.recall.ranking import Similarities


def similarities_of(cosines: Mapping[int, float]) -> Similarities:
    """The similarities of a question that was compared with all turns, given the cosine of each."""
    values = list(cosines.values()) or [0.0]
    return Similarities(cosines, fmean(values), max(values))
