"""Choose the lines of a bank's standing block, each with its sources. Reads only."""

from collections.abc import Sequence
from dataclasses import replace

from memorybank.core.memory_line import MemoryLine, PackedBlock
from memorybank.core.packing.block import pack
from memorybank.models import Bank
from memorybank.reading.candidates import load


def render_block(bank: Bank, budget: int) -> PackedBlock:
    """The block in at most ``budget`` tokens, with its reserve lines and the sources of every line."""
    candidates = load(bank, budget=budget)
    block = pack(candidates.pool, budget)

    def explained(lines: Sequence[MemoryLine]) -> tuple[MemoryLine, ...]:
        return tuple(line._replace(sources=tuple(map(candidates.explain, line.facts))) for line in lines)

    return replace(block, lines=explained(block.lines), reserve=explained(block.reserve))
