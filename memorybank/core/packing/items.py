"""A line as it would be shown: its visible text, the tokens of that, and the words it adds."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from memorybank.core.memory_line import MemoryLine
from memorybank.language import plain
from memorybank.language.dates import shorten_dates
from memorybank.language.sentences.splitting import with_full_stop
from memorybank.language.terms import ARTICLES, terms, words
from memorybank.safety.quoting import introduces, quote_speech, reported
from memorybank.safety.rule_signs import is_claim


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
    facts: list[int] = field(default_factory=list)
    concepts: tuple[str, ...] = ()
    #: Items with the same value share a paragraph.
    paragraph: tuple[object, ...] = field(init=False)
    _key: tuple[str, ...] = ()
    _near: str = ""

    def __post_init__(self) -> None:
        self.paragraph = (self.line.era, self.line.label)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for items that say the same. Computed on demand, because few items are compared."""
        if not self._key:
            self._key = dedup_key(self.line.speaker, self.text)
        return self._key

    @property
    def near_its_date(self) -> str:
        """Its text near the date of its paragraph, where dates are short. Laid out often, and computed once."""
        if not self._near:
            self._near = shorten_dates(self.text, self.line.label)
        return self._near


def item_of(line: MemoryLine) -> Item[MemoryLine]:
    """A line of a stored block, to be laid out again."""
    return Item(line, line.text, line.tokens, list(line.facts))


def line_of(item: Item[MemoryLine], section: str, text: str = "") -> MemoryLine:
    """The item as a line of a block, shown there as ``text``."""
    return item.line.shown(facts=tuple(item.facts), text=text or item.text, tokens=item.cost, section=section)


def concepts(text: str, *, but: str = "") -> tuple[str, ...]:
    """The text's content words, without those of ``but``."""
    known = set(terms(but))
    return tuple(dict.fromkeys(word for word in terms(text) if word not in known)) or (text,)


def dedup_key(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str], *, approved: bool = False) -> str:
    """One visible line that ends like a sentence, imitates no fence, and quotes speech in other people's names.

    What may be a rule, or may be taken for another's words, is told as a report, unless somebody ``approved`` it or a
    model worded it.
    """
    line = with_full_stop(inert(text))
    shown = quote_speech(line, names)
    if shown == line and not approved and (introduces(line, names) or is_claim(line)):
        return reported(line, names)
    return shown


def inert(text: str) -> str:
    """The text on one line, without hidden characters, fences and special tokens of models."""
    return " ".join(plain(text).split()).replace("```", "'''").replace("<|", "< |").replace("|>", "| >")
