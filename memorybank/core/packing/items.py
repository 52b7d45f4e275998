"""A line as it would be shown: its visible text, the tokens of that, and the words it adds."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from memorybank.core.memory_line import MemoryLine
from memorybank.language import plain
from memorybank.language.dates.heading import shorten_dates
from memorybank.language.sentences.splitting import with_full_stop
from memorybank.language.terms import compared_words, terms
from memorybank.safety.edge_names import has_edge_name
from memorybank.safety.quoting import quotable, quote_speech
from memorybank.safety.reasons import Reported, is_reported
from memorybank.safety.standing import is_report


class Layable(Protocol):
    """The attributes of a line that the layout reads."""

    @property
    def text(self) -> str: ...

    @property
    def label(self) -> str:
        """The first words of its paragraph, such as "8 May 2023"."""

    @property
    def speaker(self) -> str: ...

    @property
    def era(self) -> tuple[object, ...]:
        """The sort key of its paragraph."""

    @property
    def strand(self) -> object:
        """Lines with the same strand are kept together in a paragraph."""

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key within paragraph and strand."""


L = TypeVar("L", bound=Layable)


@dataclass(slots=True, eq=False)
class Item(Generic[L]):
    """A line or passage with its visible text, the tokens of that, the facts it stands for, and its concepts."""

    line: L
    text: str
    cost: int
    is_report: bool = False
    facts: list[int] = field(default_factory=list)
    concepts: tuple[str, ...] = ()
    #: Items with the same value share a paragraph.
    paragraph: tuple[object, ...] = field(init=False)
    #: The sort key of its line, computed once, because each layout sorts.
    order: tuple[object, ...] = field(init=False)
    _key: tuple[str, ...] = ()
    _near: str = ""

    def __post_init__(self) -> None:
        self.paragraph = (self.line.era, self.line.label)
        self.order = self.line.order

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for items that say the same. Computed on demand, because few items are compared."""
        if not self._key:
            self._key = dedup_key(self.line.speaker, self.text)
        return self._key

    @property
    def near_its_date(self) -> str:
        """Its text with shortened dates, for use near the date of its paragraph. Cached, because layout runs often."""
        if not self._near:
            self._near = shorten_dates(self.text, self.line.label)
        return self._near


def item_of(line: MemoryLine) -> Item[MemoryLine]:
    """A line of a stored block, to be laid out again."""
    return Item(line, line.text, line.tokens, line.is_report, list(line.facts))


def line_of(item: Item[MemoryLine], section: str, text: str = "") -> MemoryLine:
    """The item as a line of a block, shown there as ``text``."""
    return item.line.shown(
        facts=tuple(item.facts), text=text or item.text, tokens=item.cost, section=section, is_report=item.is_report
    )


def concepts(text: str, *, but: str = "") -> tuple[str, ...]:
    """The text's content words, without those of ``but``; the whole text if none is left."""
    known = set(terms(but))
    return tuple(dict.fromkeys(word for word in terms(text) if word not in known)) or (text,)


def dedup_key(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines of one speaker that say the same: see :func:`compared_words`."""
    return (speaker, *compared_words(text))


def as_line(
    text: str,
    names: Collection[str],
    *,
    speaker: str = "",
    reported: int = Reported.NO,
    approved: bool = False,
    trusted: bool = False,
) -> tuple[str, bool]:
    """One visible line that ends like a sentence and contains no fence, and whether it is told as a report.

    A text that is not a plain fact of its ``speaker`` is a report. If it was ``approved``, by somebody or because a
    model worded it, only speech in other people's names is quoted. ``trusted``: see :func:`is_report`.
    """
    line = with_full_stop(inert(text))
    if approved:
        return quote_speech(line, names, has_subject=True), False
    if is_reported(reported, trusted=trusted):
        return quotable(inert(text), names), True
    is_plain = not is_report(line, names=names, author=speaker, trusted=trusted)
    if is_plain and not has_edge_name(line, names, author=speaker):
        return line, False
    return quotable(line, names), True


def inert(text: str) -> str:
    """The text on one line, without hidden characters, fences and special tokens of models."""
    return " ".join(plain(text).split()).replace("```", "'''").replace("<|", "< |").replace("|>", "| >")
