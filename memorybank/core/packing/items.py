"""A line as it would be shown: its visible text, what that costs and what it says."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from memorybank.core.memory_line import MemoryLine
from memorybank.language import plain
from memorybank.language.sentences.splitting import with_full_stop
from memorybank.language.terms import ARTICLES, terms, words
from memorybank.safety.quoting import quote_speech


class Layable(Protocol):
    """What laying out needs to know of a line."""

    @property
    def text(self) -> str: ...

    @property
    def label(self) -> str:
        """What opens its paragraph, such as "8 May 2023"."""

    @property
    def speaker(self) -> str: ...

    @property
    def era(self) -> tuple[object, ...]:
        """Paragraphs stand in this order."""

    @property
    def strand(self) -> object:
        """Lines that have this in common stand together in a paragraph."""

    @property
    def order(self) -> tuple[object, ...]:
        """Lines that are equal otherwise stand in this order."""


L = TypeVar("L", bound=Layable)


@dataclass(slots=True, eq=False)
class Item(Generic[L]):
    """A line or passage with its visible text, the tokens of that, the facts it stands for, and its concepts."""

    line: L
    text: str
    cost: int
    facts: list[int] = field(default_factory=list)
    concepts: tuple[str, ...] = ()
    #: What it shares a paragraph with.
    paragraph: tuple[object, ...] = field(init=False)
    _key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.paragraph = (self.line.era, self.line.label)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for items that say the same. Computed when it is read, because few are compared."""
        if not self._key:
            self._key = dedup_key(self.line.speaker, self.text)
        return self._key


def item_of(line: MemoryLine) -> Item[MemoryLine]:
    """A line that was shown, ready to be laid out again."""
    return Item(line, line.text, line.tokens, list(line.facts))


def line_of(item: Item[MemoryLine], section: str, text: str = "") -> MemoryLine:
    """The item as a line of a block; ``text`` is how it is shown there."""
    return item.line.shown(facts=tuple(item.facts), text=text or item.text, tokens=item.cost, section=section)


def concepts(text: str, *, but: str = "") -> tuple[str, ...]:
    """What the text is about: its content words, without those of ``but``."""
    known = set(terms(but))
    return tuple(dict.fromkeys(word for word in terms(text) if word not in known)) or (text,)


def dedup_key(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str]) -> str:
    """One visible line that ends like a sentence, imitates no fence, and quotes where it speaks for another."""
    return quote_speech(with_full_stop(inert(text)), names)


def inert(text: str) -> str:
    """On one line, with nothing hidden in it, no fence and no mark of a model's special tokens."""
    return " ".join(plain(text).split()).replace("```", "'''").replace("<|", "< |").replace("|>", "| >")
