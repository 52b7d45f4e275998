"""Candidates made ready to compete: merged when they say the same, one visible line each."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memorybank import tokens
from memorybank.packing.values import Candidate
from memorybank.sentences import ended, plain, terms, words

# Only this many times the room is looked at closely, and some tokens in any case; the rest has no chance.
PREFILTER, PREFILTER_LEAST = 3, 1200
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
    concepts: tuple[str, ...] = ()
    key: tuple[str, ...] = ()

    @property
    def paragraph(self) -> tuple[int, str, str]:
        """What it shares a paragraph with."""
        return (self.fact.tier, self.fact.period, self.fact.label)


def merged(candidates: Iterable[Candidate], encoding: str) -> list[Item]:
    """Candidates in time order; the same words of the same person are one item, the earliest."""
    kept: dict[tuple[str, str], Item] = {}
    for fact in sorted(candidates, key=lambda fact: (not fact.pinned, fact.at, fact.id)):
        key = (fact.speaker, fact.text)
        if key in kept:
            kept[key].ids.append(fact.id)
        else:
            kept[key] = Item(fact, fact.text, fact.tokens or tokens.count(fact.text, encoding), [fact.id])
    return list(kept.values())


def shortlist(items: Sequence[Item], room: int) -> list[Item]:
    """In their order, the best by worth per token; each further one of a chat counts for less."""
    worth = [-item.fact.weight / (item.cost + LABEL) for item in items]
    rank: Counter[str] = Counter()
    for place in sorted(range(len(items)), key=worth.__getitem__):
        chat = items[place].fact.chat
        rank[chat] += 1
        worth[place] /= rank[chat] ** 0.5
    left, chosen = max(room * PREFILTER, PREFILTER_LEAST), []
    for place in sorted(range(len(items)), key=worth.__getitem__):
        if left <= 0:
            break
        if items[place].cost <= room:
            chosen.append(place)
            left -= items[place].cost + LABEL
    return [items[place] for place in sorted(chosen)]


def ready(items: Iterable[Item], names: Collection[str], encoding: str) -> list[Item]:
    """The items as they would be shown, with their concepts; those with nothing visible are left out."""
    shown = []
    for item in items:
        if not item.concepts:
            item.text = as_line(item.text, names)
            item.cost = tokens.count(item.text, encoding) + 1
            item.concepts, item.key = concepts(item.text), sense(item.fact.speaker, item.text)
        if item.text:
            shown.append(item)
    return shown


def concepts(text: str) -> tuple[str, ...]:
    """What the text is about: its content words and neighbouring pairs of them."""
    own = terms(text)
    return tuple(dict.fromkeys([*own, *(f"{left} {right}" for left, right in pairwise(own))])) or (text,)


def sense(speaker: str, text: str) -> tuple[str, ...]:
    """Equal for lines that differ in case, punctuation and articles only."""
    return (speaker, *(word for word in words(text) if word not in ARTICLES))


def as_line(text: str, names: Collection[str]) -> str:
    """One visible line that ends like a sentence and imitates neither a fence nor another speaker."""
    text = one_line(plain(text)).replace("```", "'''")
    if ":" in text or "：" in text:
        text = SPOKEN_AS.sub(lambda match: f"{match[1]} –" if match[1] in names else match[0], text)
    return ended(text)


def one_line(text: str) -> str:
    """Whitespace of any kind as single spaces."""
    return " ".join(text.split())


def speaking(candidates: Iterable[Item]) -> frozenset[str]:
    """The last word of every speaker's name: what stands before the colon."""
    names = {item.fact.speaker for item in candidates}
    return frozenset(found[-1] for name in names if (found := re.findall(r"\w+", name)))
