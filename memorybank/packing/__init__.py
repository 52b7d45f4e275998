"""Facts → one block of text that never exceeds its token budget."""

from memorybank.packing.block import HEADER, pack
from memorybank.packing.pool import Pool
from memorybank.packing.values import Block, Candidate, Line

__all__ = ["HEADER", "Block", "Candidate", "Line", "Pool", "pack"]
