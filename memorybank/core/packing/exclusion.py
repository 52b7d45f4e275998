"""A block without some of its lines: lines of the reserve replace them, and the rest is not chosen again."""

from collections.abc import Collection

from memorybank.core.memory_line import MemoryLine, PackedBlock, lines_without
from memorybank.core.packing.assembly import FURTHER, HEADER, OPENING_TOKENS, Assembly, lines_of
from memorybank.core.packing.items import item_of

#: How often the remaining tokens are filled again.
REFILL_ROUNDS = 2


def exclude(
    block: PackedBlock,
    budget: int,
    *,
    encoding: str,
    chats: Collection[str] = (),
    facts: Collection[int] = (),
    own: str = "",
) -> PackedBlock:
    """``block`` in at most ``budget`` tokens, without the words of some chats, some facts, and digests of those.

    ``own`` is the asking chat: lines from it alone are left out, too, but not digest lines about other chats as well.
    Returns the same object if no line is removed and the block fits the budget. Lines keep their order and sections;
    a line that stands for several facts stays while one of them may be seen.
    """
    hidden_chats, hidden_facts = set(chats), set(facts)
    fits = block.tokens <= budget and (block.text or not block.lines)  # a block that lost lines has no text yet
    if not hidden_chats and not hidden_facts and not own and fits:
        return block
    kept = lines_without(block.lines, hidden_chats, hidden_facts, own)
    reserve = lines_without(block.reserve, hidden_chats, hidden_facts, own)
    if tuple(kept) == block.lines and fits:
        return PackedBlock(block.text, block.tokens, block.lines, tuple(reserve))
    assembly: Assembly[MemoryLine] = Assembly(HEADER, budget, encoding)
    for line in kept:
        assembly[line.section].append(item_of(line))
    freed = sum(line.tokens for line in block.lines) - sum(line.tokens for line in kept)
    text, size = _refilled(assembly, reserve, budget - block.tokens + freed if block.text else 0)
    return PackedBlock(text, size, lines_of(assembly), tuple(reserve))


def _refilled(assembly: Assembly[MemoryLine], reserve: list[MemoryLine], room: int) -> tuple[str, int]:
    """The text with as much of the reserve as fits, best first; ``room`` estimates the freed tokens."""
    _add(assembly, reserve, room)
    text, size = assembly.finished()
    for _ in range(REFILL_ROUNDS):
        if not _add(assembly, reserve, assembly.budget - size):
            break
        text, size = assembly.finished()
    return text, size


def _add(assembly: Assembly[MemoryLine], reserve: list[MemoryLine], room: int) -> bool:
    """Move the lines that should fit from the reserve to the block; whether there was any."""
    taken = []
    for line in reserve:
        if line.tokens + OPENING_TOKENS <= room:
            taken.append(line)
            room -= line.tokens + OPENING_TOKENS
    for line in taken:
        reserve.remove(line)
        assembly[FURTHER].append(item_of(line))
    return bool(taken)
