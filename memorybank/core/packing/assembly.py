"""A text under construction: its sections, its remaining budget, and what is dropped when it is too long."""

from collections.abc import Iterator, Sequence
from typing import Generic

from memorybank import prompts
from memorybank.core.memory_line import MemoryLine
from memorybank.core.packing.greedy import Objective, fill
from memorybank.core.packing.items import Item, L, line_of
from memorybank.core.packing.layout import Sheet
from memorybank.language import tokens

#: The sections of a block in their order, named for what they hold: pinned facts; digests and notes as they were
#: written; facts that stay the same from chat to chat; the quota of each tier; and the best of all others.
PINNED, WRITTEN, STABLE, QUOTA, FURTHER = "pinned", "written", "stable", "quota", "further"
SECTIONS = (PINNED, WRITTEN, STABLE, QUOTA, FURTHER)
#: Not in the block: the facts that would be added next.
RESERVE = "reserve"
#: The first line of a block.
BLOCK_HEADER = prompts.text("memory.block")
#: The heading of the last section, if a stable section precedes it.
MORE_HEADING = prompts.text("memory.further")
#: Encloses all quoted text. No line can contain it, so no line can end the quotation and speak as somebody else.
BLOCK_FENCE = "```"
#: The approximate tokens of opening a paragraph or a section with its heading; and of the shortest useful line.
OPENING_TOKENS, MIN_LINE_TOKENS = 8, 6


class Assembly(Generic[L]):
    """Items in their sections under a header, between fences. Its size is always that of the whole text."""

    def __init__(self, header: str, budget: int, encoding: str) -> None:
        self.header, self.budget = f"{header}\n{BLOCK_FENCE}", budget
        self.sheet = Sheet(encoding)
        self.sections: dict[str, list[Item[L]]] = {name: [] for name in SECTIONS}

    def __getitem__(self, section: str) -> list[Item[L]]:
        return self.sections[section]

    def __iter__(self) -> Iterator[Item[L]]:
        return (item for items in self.sections.values() for item in items)

    def text(self) -> str:
        """The whole text; "" while it has no item."""
        lines: list[str] = []
        for name, items in self.sections.items():
            if items:
                lines += [MORE_HEADING] if name == FURTHER and self.needs_heading() else []
                lines += self.sheet.paragraphs(items)
        return "\n".join([self.header, *lines, BLOCK_FENCE]) if lines else ""

    def needs_heading(self) -> bool:
        """Whether the last section needs a heading: without one, it would seem to continue the section before it."""
        return bool(self.sections[STABLE] or self.sections[WRITTEN])

    def room(self) -> int:
        """The remaining budget in tokens; negative when the text is too long."""
        if text := self.text():
            return self.budget - self.sheet.count(text)
        return self.budget - self.sheet.count(self.header) - 1 - self.sheet.count(BLOCK_FENCE)

    def fill(
        self,
        section: str,
        items: Sequence[Item[L]],
        room: int,
        to: Objective[Item[L]],
        *,
        min_tokens: int | None = None,
    ) -> None:
        """Add the items that serve the objective best in about ``room`` tokens; stop once ``min_tokens`` are used."""
        self.sections[section] += fill(items, room, to, min_tokens=min_tokens)
        self.trim()

    def trim(self) -> None:
        """Drop the latest items until the text fits by an exact count."""
        while self.room() < 0 and self.drop():
            pass

    def drop(self, excess: int = 1) -> bool:
        """Drop the latest items, of about ``excess`` tokens; False if there is none."""
        dropped = False
        for items in reversed(self.sections.values()):
            while items and excess > 0:
                excess -= items.pop().cost
                dropped = True
        return dropped

    def finished(self) -> tuple[str, int]:
        """The text and its tokens: counted in one piece, and shortened until it is within the budget."""
        text = self.text()
        while (size := tokens.count(text, self.sheet.encoding)) > self.budget and self.drop(size - self.budget):
            text = self.text()
        return text, size


def lines_of(assembly: Assembly[MemoryLine]) -> tuple[MemoryLine, ...]:
    """Every line of a block in its order."""
    sections = assembly.sections.items()
    return tuple(line_of(item, name, text) for name, own in sections for item, text in assembly.sheet.worded(own))
