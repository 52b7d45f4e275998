"""A block without some of its lines: what goes is replaced from the reserve, nothing is chosen anew."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from memorybank import tokens
from memorybank.packing.items import Item
from memorybank.packing.layout import FRESH, PINNED, RECENT, SETTLED, Section, Sheet, divided, item_of, shown
from memorybank.packing.values import Block, Line

#: About what a line needs beside its own tokens when it opens a paragraph.
OPENING = 8
#: How often what is still left over is filled again.
ROUNDS = 2


def reduced(block: Block, seen: Callable[[Line], Line | None], budget: int, *, header: str, encoding: str) -> Block:
    """``block`` with its lines as ``seen`` leaves them (None: not at all), in at most ``budget`` tokens.

    The same block where nothing goes and the budget holds. Lines keep their order and their parts.
    """
    lines = [seen(line) for line in block.lines]
    reserve = tuple(line for line in map(seen, block.reserve) if line)
    if tuple(lines) == block.lines and block.tokens <= budget:
        return Block(block.text, block.tokens, block.lines, reserve)
    kept = [line for line in lines if line]
    freed = sum(line.cost for line in block.lines) - sum(line.cost for line in kept)
    reduction = Reduction(kept, budget, Sheet(header, encoding))
    return reduction.filled(list(reserve), budget - block.tokens + freed)


class Reduction:
    """A block that lost lines, while it is laid out again."""

    def __init__(self, lines: Iterable[Line], budget: int, sheet: Sheet) -> None:
        self.budget, self.sheet = budget, sheet
        self.parts: defaultdict[str, list[Item]] = defaultdict(list)
        for line in lines:
            self.parts[line.section].append(item_of(line))

    def filled(self, reserve: list[Line], room: int) -> Block:
        """The block with as much of the reserve as fits, best first; ``room`` is about what the gap leaves.

        Its text is counted in one piece, and whole lines go, the latest choice first, until it fits.
        """
        self._add(reserve, room)
        text, size = self._fitting()
        for _ in range(ROUNDS):
            if not self._add(reserve, self.budget - size):
                break
            text, size = self._fitting()
        return Block(text, size, shown(self._sections()), tuple(reserve))

    def _add(self, reserve: list[Line], room: int) -> bool:
        """Take from the reserve what should fit; whether there was anything."""
        taken = []
        for line in reserve:
            if line.cost + OPENING <= room:
                taken.append(line)
                room -= line.cost + OPENING
        for line in taken:
            reserve.remove(line)
            self.parts[FRESH].append(item_of(line))
        return bool(taken)

    def _fitting(self) -> tuple[str, int]:
        while True:
            text = self.sheet.written(self._sections())
            size = tokens.count(text, self.sheet.encoding)
            if size <= self.budget:
                return text, size
            self._drop(size - self.budget)

    def _drop(self, excess: int) -> None:
        """Lines worth so many tokens go: as many as it takes, before the next count."""
        for name in (FRESH, RECENT, SETTLED, PINNED):
            while self.parts[name] and excess > 0:
                excess -= self.parts[name].pop().cost

    def _sections(self) -> list[Section]:
        return divided(*(self.parts[name] for name in (PINNED, SETTLED, RECENT, FRESH)))
