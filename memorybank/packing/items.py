"""A candidate made ready to compete: one visible line, what it costs and what it says."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from memorybank.packing.values import Candidate
from memorybank.sentences import ended, plain, terms, words

# What a fact costs beside its own tokens, on average: a share of its date and speaker.
LABEL = 3

ARTICLES = frozenset("a an the der die das ein eine le la les un une el los las uno una o os um uma".split())
SPOKEN_AS = re.compile(r"(?<!\w)(\w++)\s?[:：]")


@dataclass(slots=True, eq=False)
class Item:
    """A candidate in the running: its text as shown, what that costs and says, every id it stands for."""

    fact: Candidate
    text: str
    cost: int
    ids: list[int]
    concepts: tuple[str, ...]
    #: What it shares a paragraph with.
    paragraph: tuple[int, str, str] = field(init=False)
    _key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.paragraph = (self.fact.tier, self.fact.period, self.fact.label)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for items that say the same. Found when asked for: few of those in the running are."""
        if not self._key:
            self._key = sense(self.fact.speaker, self.text)
        return self._key


def concepts(text: str) -> tuple[str, ...]:
    """What the text is about: its content words."""
    return tuple(dict.fromkeys(terms(text))) or (text,)


def sense(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str]) -> str:
    """One visible line that ends like a sentence and imitates neither a fence nor another speaker."""
    text = inert(text)
    if ":" in text or "：" in text:
        text = SPOKEN_AS.sub(lambda match: f"{match[1]} –" if match[1] in names else match[0], text)
    return ended(text)


def inert(text: str) -> str:
    """On one line, with nothing hidden in it and no fence."""
    return " ".join(plain(text).split()).replace("```", "'''")


def speaking(speakers: Iterable[str]) -> frozenset[str]:
    """The last word of every speaker's name: what stands before the colon."""
    return frozenset(found[-1] for name in set(speakers) if (found := re.findall(r"\w+", name)))
