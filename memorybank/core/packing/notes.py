"""Passages that are ranked already → fenced notes within a budget, laid out like a block.

Not one function with ``pack``: notes come with their order, and have no tiers, no stable prefix and no reserve.
Filling, layout and the proof of the budget are the same.
"""

from collections.abc import Collection, Iterable, Sequence

from memorybank.core.packing.assembly import FURTHER, SHORTEST, Assembly
from memorybank.core.packing.greedy import Openings
from memorybank.core.packing.items import Item, as_line
from memorybank.core.packing.layout import worded
from memorybank.core.packing.values import Notes, Passage
from memorybank.language import tokens
from memorybank.safety.quoting import name_words

#: Exact counts that filling the last tokens may take.
TRIES = 12


def listed(
    passages: Sequence[Passage], budget: int, *, header: str, speakers: Iterable[str] = (), encoding: str = "o200k_base"
) -> Notes:
    """As many of the passages, best first, as fit in ``budget`` tokens with header and fence; "" if none does."""
    if not passages or budget <= 0:
        return Notes()
    items = list(_items(passages, name_words([*speakers, *(passage.speaker for passage in passages)]), encoding))
    assembly: Assembly[Passage] = Assembly(header, budget, encoding)
    to = AsRanked()
    assembly.fill(FURTHER, items, assembly.room(), to)
    _top_up(assembly, items, to)
    text, size = assembly.finished()
    return Notes(text, size, tuple(item.candidate._replace(text=text) for item, text in worded(assembly[FURTHER])))


def _items(passages: Sequence[Passage], names: Collection[str], encoding: str) -> Iterable[Item[Passage]]:
    """The passages as they would be shown, each once that says the same."""
    said = set()
    for passage in passages:
        text = as_line(passage.text, names)
        item = Item(passage, text, tokens.count(text, encoding) + 1)
        if text and item.key not in said:
            said.add(item.key)
            yield item


class AsRanked:
    """The objective of notes: the first before the next, as long as it fits."""

    def __init__(self) -> None:
        self.openings = Openings()
        self.taken: set[tuple[int, int]] = set()

    def gain(self, item: Item[Passage]) -> float:
        """The same for all, so that they are taken in their order."""
        return 0.0

    def price(self, item: Item[Passage]) -> int:
        """With its date and speaker."""
        return self.openings.price(item, FURTHER)

    def is_said(self, item: Item[Passage]) -> bool:
        """Whether it must not be said, because what it stands behind found no room. Each is given once."""
        return not self.taken.issuperset(item.candidate.behind)

    def take(self, item: Item[Passage]) -> None:
        """Choose it."""
        self.openings.add(item, FURTHER)
        self.taken.add((item.candidate.output, item.candidate.place))


def _top_up(assembly: Assembly[Passage], items: Sequence[Item[Passage]], to: AsRanked) -> None:
    """Estimates leave a few tokens over: add what fits by an exact count.

    By estimates, as in a block, retention was .865 instead of .870, at the same fill.
    """
    left, tries = assembly.room(), 0
    for item in items:
        if left < SHORTEST or tries >= TRIES:
            return
        if item.cost <= left and item not in assembly[FURTHER] and not to.is_said(item):
            tries += 1
            assembly[FURTHER].append(item)
            if assembly.room() < 0:
                assembly[FURTHER].pop()
            else:
                to.take(item)
            left = assembly.room()
