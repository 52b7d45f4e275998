"""Lines that are ranked already → fenced notes within a budget, laid out like a block."""

from collections.abc import Iterable, Sequence

from memorybank import tokens
from memorybank.packing.choosing import Selection
from memorybank.packing.items import Item, as_line, speaking
from memorybank.packing.layout import Section, Sheet, shown
from memorybank.packing.values import Block, Candidate

#: No line can hold it, so no line can end the notes and go on as if somebody else spoke.
FENCE = "```"
#: Exact counts that filling the last tokens may take.
TRIES = 12
#: Where less is left, nothing is short enough.
LEAST = 6


def listed(candidates: Sequence[Candidate], budget: int, *, header: str, encoding: str = "o200k_base") -> Block:
    """As many of the candidates, best first, as fit in ``budget`` tokens with header and fence; "" if none does."""
    if not candidates or budget <= 0:
        return Block()
    notes = Notes(_items(candidates, encoding), budget, Sheet(f"{header}\n{FENCE}", encoding))
    return notes.filled()


def _items(candidates: Sequence[Candidate], encoding: str) -> Iterable[Item]:
    """The candidates as they would be shown, each sense once."""
    names, said = speaking(candidate.speaker for candidate in candidates), set()
    for candidate in candidates:
        text = as_line(candidate.text, names)
        item = Item(candidate, text, tokens.count(text, encoding) + 1, [candidate.id], ())
        if text and item.key not in said:
            said.add(item.key)
            yield item


class Notes:
    """The notes while they are chosen."""

    def __init__(self, items: Iterable[Item], budget: int, sheet: Sheet) -> None:
        self.items, self.budget, self.sheet = list(items), budget, sheet
        self.chosen: list[Item] = []
        self.selection = Selection()

    def filled(self) -> Block:
        """Chosen by estimate, then corrected by exact counts. The text is counted in one piece."""
        self._choose(self.budget - self.sheet.count(self._frame()))
        while self.chosen and self._size() > self.budget:
            self.chosen.pop()
        self._top_up()
        text = self._text()
        while (size := tokens.count(text, self.sheet.encoding)) > self.budget:
            self.chosen.pop()
            text = self._text()
        return Block(text, size, shown(self._sections()))

    def _choose(self, room: int) -> None:
        for item in self.items:
            price = item.cost + self.selection.opening(item, "")
            if price <= room:
                self.selection.take(item, "")
                self.chosen.append(item)
                room -= price

    def _top_up(self) -> None:
        """Estimates leave a few tokens over: add what fits by an exact count."""
        left, tries = self.budget - self._size(), 0
        for item in self.items:
            if left < LEAST or tries >= TRIES:
                return
            if item.cost <= left and item not in self.chosen:
                tries += 1
                self.chosen.append(item)
                if self._size() > self.budget:
                    self.chosen.pop()
                left = self.budget - self._size()

    def _frame(self) -> str:
        return f"{self.sheet.header}\n{FENCE}"

    def _text(self) -> str:
        text = self.sheet.written(self._sections())
        return f"{text}\n{FENCE}" if text else ""

    def _size(self) -> int:
        return self.sheet.count(self._text()) if self.chosen else 0

    def _sections(self) -> list[Section]:
        return [Section("", "", self.chosen)]
