"""Facts → one block of text that never exceeds its token budget."""

from memorybank.core.packing.block import HEADER, pack
from memorybank.core.packing.listing import listed
from memorybank.core.packing.objective import checkpoint, reached
from memorybank.core.packing.pool import Pool
from memorybank.core.packing.sourced import Source, Sourced
from memorybank.core.packing.values import Block, Candidate, Line, Notes, Passage

__all__ = [
    "HEADER",
    "Block",
    "Candidate",
    "Line",
    "Notes",
    "Passage",
    "Pool",
    "Source",
    "Sourced",
    "checkpoint",
    "listed",
    "pack",
    "reached",
]
