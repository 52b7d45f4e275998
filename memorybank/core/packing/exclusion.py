"""A block without some of its lines: others from the reserve take their place, and nothing is chosen again."""

from collections.abc import Collection, Set

from memorybank.core.packing.assembly import FURTHER, OPENING_TOKENS, Assembly, lines_of
from memorybank.core.packing.block import HEADER
from memorybank.core.packing.items import item_of
from memorybank.core.packing.memory_line import MemoryLine, PackedBlock

#: How often the tokens that are still left are filled again.
REFILL_ROUNDS = 2


def exclude(
    block: PackedBlock,
    budget: int,
    *,
    encoding: str,
    chats: Collection[str] = (),
    facts: Collection[int] = (),
) -> PackedBlock:
    """``block`` in at most ``budget`` tokens, without the words of some chats, some facts, and digests of those.

    The same block where nothing goes and the budget holds. Lines keep their order and their sections; a line that
    stands for several facts stays as long as one of them may be seen.
    """
    hidden_chats, hidden_facts = set(chats), set(facts)
    if not hidden_chats and not hidden_facts and block.tokens <= budget:
        return block
    lines = [_visible(line, hidden_chats, hidden_facts) for line in block.lines]
    reserve = [line for line in (_visible(line, hidden_chats, hidden_facts) for line in block.reserve) if line]
    if tuple(lines) == block.lines and block.tokens <= budget:
        return PackedBlock(block.text, block.tokens, block.lines, tuple(reserve))
    kept = [line for line in lines if line]
    assembly: Assembly[MemoryLine] = Assembly(HEADER, budget, encoding)
    for line in kept:
        assembly[line.section].append(item_of(line))
    freed = sum(line.tokens for line in block.lines) - sum(line.tokens for line in kept)
    text, size = _refilled(assembly, reserve, budget - block.tokens + freed)
    return PackedBlock(text, size, lines_of(assembly), tuple(reserve))


def _visible(line: MemoryLine, chats: Set[str], facts: Set[int]) -> MemoryLine | None:
    """The line without what is excluded of it; None if nothing is left."""
    if not line.restates.isdisjoint(facts):
        return None
    left = [
        (fact, source)
        for fact, source in zip(line.facts, line.sources, strict=True)
        if fact not in facts and chats.isdisjoint(source.chats)
    ]
    if len(left) == len(line.facts):
        return line
    kept, sources = zip(*left, strict=True) if left else ((), ())
    return line._replace(facts=kept, sources=sources) if kept else None


def _refilled(assembly: Assembly[MemoryLine], reserve: list[MemoryLine], room: int) -> tuple[str, int]:
    """The text with as much of the reserve as fits, best first; ``room`` is about what the gap leaves."""
    _add(assembly, reserve, room)
    text, size = assembly.finished()
    for _ in range(REFILL_ROUNDS):
        if not _add(assembly, reserve, assembly.budget - size):
            break
        text, size = assembly.finished()
    return text, size


def _add(assembly: Assembly[MemoryLine], reserve: list[MemoryLine], room: int) -> bool:
    """Take from the reserve what should fit; whether there was anything."""
    taken = []
    for line in reserve:
        if line.tokens + OPENING_TOKENS <= room:
            taken.append(line)
            room -= line.tokens + OPENING_TOKENS
    for line in taken:
        reserve.remove(line)
        assembly[FURTHER].append(item_of(line))
    return bool(taken)
