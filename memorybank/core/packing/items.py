"""A candidate as it would be shown: one visible line, what it costs and what it says."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memorybank.core.packing.values import Said
from memorybank.language import plain
from memorybank.language.sentences import ended
from memorybank.language.terms import ARTICLES, terms, words
from memorybank.safety.quoting import quoted

S = TypeVar("S", bound=Said)


@dataclass(slots=True, eq=False)
class Item(Generic[S]):
    """A fact or passage as it would be shown: its line, the tokens of that, the facts it stands for, its concepts."""

    candidate: S
    text: str
    cost: int
    ids: list[int] = field(default_factory=list)
    concepts: tuple[str, ...] = ()
    #: What it shares a paragraph with.
    paragraph: tuple[object, ...] = field(init=False)
    _key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.paragraph = (self.candidate.era, self.candidate.label)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for items that say the same. Found only when asked for, because few are compared."""
        if not self._key:
            self._key = dedup_key(self.candidate.speaker, self.text)
        return self._key


def concepts(text: str, *, but: str = "") -> tuple[str, ...]:
    """What the text is about: its content words, without those of ``but``."""
    known = set(terms(but))
    return tuple(dict.fromkeys(word for word in terms(text) if word not in known)) or (text,)


def dedup_key(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str]) -> str:
    """One visible line that ends like a sentence, imitates no fence, and quotes where it speaks for another."""
    return quoted(ended(inert(text)), names)


def inert(text: str) -> str:
    """On one line, with nothing hidden in it, no fence and no mark of a model's special tokens."""
    return " ".join(plain(text).split()).replace("```", "'''").replace("<|", "< |").replace("|>", "| >")
