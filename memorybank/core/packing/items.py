"""A candidate as it would be shown: one visible line, what it costs and what it says."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memorybank.core.packing.values import Said
from memorybank.language import plain
from memorybank.language.sentences import ARTICLES, ended, terms, words

# What a fact costs beside its own tokens, on average: a share of its date and speaker.
LABEL = 3

SPOKEN_AS = re.compile(r"(?<!\w)(\w++)\s?[:：]")


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


def concepts(text: str) -> tuple[str, ...]:
    """What the text is about: its content words."""
    return tuple(dict.fromkeys(terms(text))) or (text,)


def dedup_key(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str]) -> str:
    """One visible line that ends like a sentence and imitates neither a fence nor another speaker."""
    text = inert(text)
    if ":" in text or "：" in text:
        text = SPOKEN_AS.sub(lambda match: f"{match[1]} –" if match[1] in names else match[0], text)
    return ended(text)


def inert(text: str) -> str:
    """On one line, with nothing hidden in it, no fence and no mark of a model's special tokens."""
    return " ".join(plain(text).split()).replace("```", "'''").replace("<|", "< |").replace("|>", "| >")


def speaking(speakers: Iterable[str]) -> frozenset[str]:
    """The last word of every speaker's name: what stands before the colon."""
    return frozenset(found[-1] for name in set(speakers) if (found := re.findall(r"\w+", name)))
