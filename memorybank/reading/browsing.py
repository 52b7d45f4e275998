"""A bank's facts for people to look through: all that they may see, what it says, where it comes from."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Fact, FactSource, Output
from memorybank.models.fact import FactQuerySet
from memorybank.reading import recall
from memorybank.reading.recall.visibility import VisibleSentence

#: Facts that a search finds at most.
MOST = 200


@dataclass(frozen=True, slots=True)
class Origin:
    """A turn that a fact rests on, without its words: whose it is, of when, and in which chat."""

    output: int
    sequence: int
    chat: int
    chat_key: str
    author: str
    at: datetime


def browse(bank: Bank) -> FactQuerySet:
    """The facts of a bank, each once: nothing of private chats, and no line of a digest that was absorbed."""
    facts = bank.facts.filter(tier__isnull=False).exclude(entry__chat__private=True)
    return facts.exclude(sources__entry__chat__private=True)


@at_present
def find(bank: Bank, question: str, *, now: datetime = PRESENT) -> list[int]:
    """Facts that a question is about, best first, whatever became of them, found through the index."""
    found = recall.about(bank, question, most=MOST, now=now)
    restating = FactSource.objects.filter(source__in=found).values("fact")
    return [*found, *bank.facts.filter(tier__isnull=False, pk__in=restating).values_list("pk", flat=True)]


def origins(bank: Bank, facts: Collection[Fact]) -> dict[int, list[Origin]]:
    """Of each of these facts the turns that it rests on, oldest first; none of private chats. Two queries."""
    ids = [fact.pk for fact in facts]
    turns = Output.objects.filter(chat__bank=bank, chat__private=False).order_by("sequence").distinct()
    columns = ("pk", "sequence", "chat_id", "chat__key", "author", "created_at")
    told: dict[int, list[Origin]] = defaultdict(list)
    for resting in ("facts", "facts__restated_by"):  # a leaf's facts, lines of digests
        for fact, *turn in turns.filter(**{f"{resting}__in": ids}).values_list(resting, *columns):
            told[fact].append(Origin(*turn))
    return told


def sentences(bank: Bank, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], VisibleSentence]:
    """Who says what at each of these places (an output, a place in it), as far as memory tells it now; two queries.

    What was erased, hidden or made private since is not among them.
    """
    lines = recall.visible(bank, {output for output, _ in places})
    sentences = {(output, line.place): line for output, of in lines.items() for line in of}
    return {place: sentences[place] for place in places if place in sentences}
