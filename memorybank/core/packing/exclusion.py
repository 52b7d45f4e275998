"""Remove lines from a block and replace them by lines of its reserve, without choosing the other lines again."""

from collections.abc import Collection
from dataclasses import replace

from memorybank.core.memory_line import MemoryLine, PackedBlock, lines_without, speakers_of
from memorybank.core.packing.assembly import BLOCK_HEADER, FURTHER, OPENING_TOKENS, Assembly, lines_of
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
    """``block`` in at most ``budget`` tokens, without some chats, some facts, and lines that restate these facts.

    ``own`` is the asking chat: lines from it alone are left out, too, but not lines that also come from other chats.
    Returns the same object if no line is removed and the block fits the budget. Lines keep their order and sections;
    a line that stands for several facts stays while one of them may be seen.
    """
    hidden_chats, hidden_facts = set(chats), set(facts)
    fits = block.tokens <= budget and (block.text or not block.lines)  # a block that lost lines has no text yet
    if not hidden_chats and not hidden_facts and not own and fits:
        return block
    kept = lines_without(block.lines, hidden_chats, hidden_facts, own)
    reserve = lines_without(block.reserve, hidden_chats, hidden_facts, own)
    # Names of people whose lines are removed must not be kept.
    people = speakers_of(*kept, *reserve) if hidden_chats or hidden_facts else block.people
    if tuple(kept) == block.lines and fits:
        return replace(block, reserve=tuple(reserve), people=people)
    assembly: Assembly[MemoryLine] = Assembly(BLOCK_HEADER, budget, encoding)
    for line in kept:
        assembly[line.section].append(item_of(line))
    freed = sum(line.tokens for line in block.lines) - sum(line.tokens for line in kept)
    text, size = _refilled(assembly, reserve, budget - block.tokens + freed if block.text else 0)
    return PackedBlock(text, size, lines_of(assembly), tuple(reserve), people, block.trusted)


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
    """Move the lines that should fit from the reserve to the block; return whether any was moved."""
    taken = []
    for line in reserve:
        if line.tokens + OPENING_TOKENS <= room:
            taken.append(line)
            room -= line.tokens + OPENING_TOKENS
    for line in taken:
        reserve.remove(line)
        assembly[FURTHER].append(item_of(line))
    return bool(taken)
