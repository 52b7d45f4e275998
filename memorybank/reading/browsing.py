"""A bank's facts for people to look through: all that they may see, what it says, where it comes from."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from operator import attrgetter

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Entry, Fact, Granularity, Output
from memorybank.models.fact import FactQuerySet
from memorybank.reading import recall

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
    return facts.exclude(pk__in=list(_resting_on_private(bank)))


def _resting_on_private(bank: Bank) -> Iterator[int]:
    private = Entry.objects.filter(bank=bank, chat__private=True)
    digests = list(private.above().values_list("pk", flat=True))
    if not digests:
        return
    withheld = set(Fact.objects.filter(entry__in=private).values_list("pk", flat=True))
    for pk, cited in bank.facts.filter(entry__in=digests).values_list("pk", "citations"):
        if not withheld.isdisjoint(cited):
            yield pk


@at_present
def find(bank: Bank, question: str, *, now: datetime = PRESENT) -> list[int]:
    """Facts that a question is about, best first, whatever became of them, found through the index."""
    found = recall.about(bank, question, most=MOST, now=now)
    leaf = set(found)
    digests = bank.facts.filter(tier__isnull=False).exclude(entry__granularity=Granularity.CONVERSATION)
    return [*found, *(pk for pk, cited in digests.values_list("pk", "citations") if not leaf.isdisjoint(cited))]


def origins(bank: Bank, facts: Collection[Fact]) -> dict[int, list[Origin]]:
    """Of each of these facts the turns that it rests on, oldest first; none of private chats. Two queries."""
    leaves = {fact.pk: fact.citations for fact in facts if fact.entry.granularity == Granularity.CONVERSATION}
    below = {fact.pk: fact.citations for fact in facts if fact.pk not in leaves}
    cited = set(chain.from_iterable(below.values())) - leaves.keys()
    leaves |= dict(bank.facts.filter(pk__in=cited).values_list("pk", "citations")) if cited else {}
    turns = {
        fact.pk: set(chain.from_iterable(leaves.get(pk, ()) for pk in below.get(fact.pk, (fact.pk,)))) for fact in facts
    }
    known = _known(bank, set(chain.from_iterable(turns.values())))
    told: dict[int, list[Origin]] = defaultdict(list)
    for pk, outputs in turns.items():
        told[pk] = sorted((known[output] for output in outputs if output in known), key=attrgetter("sequence"))
    return told


def sentences(bank: Bank, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], tuple[str, str]]:
    """Who says what at each of these places (an output, a place in it), as far as memory tells it now; two queries.

    What was erased, hidden or made private since is not among them.
    """
    lines = recall.visible(bank, {output for output, _ in places})
    told = {(output, line.place): (line.speaker, line.text) for output, of in lines.items() for line in of}
    return {place: told[place] for place in places if place in told}


def _known(bank: Bank, outputs: Iterable[int]) -> dict[int, Origin]:
    rows = Output.objects.filter(chat__bank=bank, chat__private=False, pk__in=list(outputs))
    columns = ("pk", "sequence", "chat_id", "chat__key", "author", "created_at")
    return {row[0]: Origin(*row) for row in rows.values_list(*columns)}
