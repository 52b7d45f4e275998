"""A block without some of its lines: what goes is replaced from the reserve, nothing is chosen anew."""

from collections.abc import Callable

from memorybank.core.packing.assembly import FURTHER, OPENING, Assembly, lines_of
from memorybank.core.packing.layout import item_of
from memorybank.core.packing.values import Candidate, Line, PackedBlock

#: How often what is still left over is filled again.
ROUNDS = 2


def reduced(
    block: PackedBlock, seen: Callable[[Line], Line | None], budget: int, *, header: str, encoding: str
) -> PackedBlock:
    """``block`` with its lines as ``seen`` leaves them (None: not at all), in at most ``budget`` tokens.

    The same block where nothing goes and the budget holds. Lines keep their order and their sections.
    """
    lines = [seen(line) for line in block.lines]
    reserve = [line for line in map(seen, block.reserve) if line]
    if tuple(lines) == block.lines and block.tokens <= budget:
        return PackedBlock(block.text, block.tokens, block.lines, tuple(reserve))
    kept = [line for line in lines if line]
    assembly: Assembly[Candidate] = Assembly(header, budget, encoding)
    for line in kept:
        assembly[line.section].append(item_of(line))
    freed = sum(line.cost for line in block.lines) - sum(line.cost for line in kept)
    text, size = _refilled(assembly, reserve, budget - block.tokens + freed)
    return PackedBlock(text, size, lines_of(assembly), tuple(reserve))


def _refilled(assembly: Assembly[Candidate], reserve: list[Line], room: int) -> tuple[str, int]:
    """The text with as much of the reserve as fits, best first; ``room`` is about what the gap leaves."""
    _add(assembly, reserve, room)
    text, size = assembly.finished()
    for _ in range(ROUNDS):
        if not _add(assembly, reserve, assembly.budget - size):
            break
        text, size = assembly.finished()
    return text, size


def _add(assembly: Assembly[Candidate], reserve: list[Line], room: int) -> bool:
    """Take from the reserve what should fit; whether there was anything."""
    taken = []
    for line in reserve:
        if line.cost + OPENING <= room:
            taken.append(line)
            room -= line.cost + OPENING
    for line in taken:
        reserve.remove(line)
        assembly[FURTHER].append(item_of(line))
    return bool(taken)
