"""Facts → one block of text that never exceeds its token budget."""

from memorybank.packing.block import HEADER, pack
from memorybank.packing.listing import listed
from memorybank.packing.objective import checkpoint, reached
from memorybank.packing.pool import Pool
from memorybank.packing.sourced import Source, Sourced
from memorybank.packing.values import Block, Candidate, Line, Notes, Passage

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
