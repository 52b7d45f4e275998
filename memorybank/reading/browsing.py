"""Browse a bank's facts: what a person may see, search results, and where each fact comes from."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

from memorybank.clock import PRESENT, at_present
from memorybank.core.fact_state import FactState
from memorybank.core.memory_line import MemoryLine
from memorybank.language.terms import distinct_terms, may_have_terms
from memorybank.models import BY_HAND, NOBODY, Bank, ErasureRequest, Fact, FactOutput, FactSource, Output
from memorybank.models.fact import FactQuerySet
from memorybank.reading.recall.hits import facts_about
from memorybank.reading.recall.index_terms import content_words
from memorybank.reading.recall.notes import visible_sentences
from memorybank.reading.recall.visibility import VisibleSentence, shares_most_words, trusting
from memorybank.reading.trust import trusted_speakers
from memorybank.reading.turn_filter import containing

#: Maximum of facts that a search returns of those with its words, and of those in which its last word begins one.
MAX_FOUND_FACTS = 200
#: The score of a fact in which the last word only begins one: it is below that of every fact with the words.
BEGUN_WORD_SCORE = -1.0
#: The last word of a search must have so many characters to be completed: a single one begins too many words.
MIN_BEGUN_CHARACTERS = 2
#: Matches a reversed text: from the end, because a search for the last word takes quadratic time.
_LAST_WORD = re.compile(r"\W*([^\W_]+(?:['’.-][^\W_]+)*)")


@dataclass(frozen=True, slots=True)
class Origin:
    """The author, time and chat of a turn that is a source of a fact, without its text. ``method`` took the fact."""

    output: int
    sequence: int
    chat: int
    chat_key: str
    author: str
    at: datetime
    metadata: Mapping[str, Any] = field(compare=False)
    method: str = field(compare=False)

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody added it to memory by hand, in no chat that anybody can open."""
        return self.method == BY_HAND


def browse(bank: Bank, *, viewer: str = NOBODY) -> FactQuerySet:
    """The facts of a bank that ``viewer`` may read, without lines of absorbed digests, which repeat other facts.

    Each knows whether it is told as a report, as the block tells it.
    """
    return _readable(bank.facts.all(), viewer).with_trust_in(trusted_speakers(bank.pk))


def to_review(bank: str) -> CombinedExpression:
    """The number of quarantined facts and open requests, for rows whose column ``bank`` is the bank's id."""
    facts = _readable(Fact.objects.filter(bank=OuterRef(bank)), NOBODY).to_review().order_by()
    requests = ErasureRequest.objects.filter(bank=OuterRef(bank)).open().order_by()
    return _count(facts) + _count(requests)


def _count(rows: QuerySet[Any]) -> Coalesce:
    return Coalesce(Subquery(rows.values("bank").annotate(n=Count("pk")).values("n")), 0)


def count_to_review(bank: Bank) -> int:
    """The number of quarantined facts and open requests that wait for an owner."""
    return browse(bank).to_review().count() + bank.erasure_requests.open().count()


def _readable(facts: FactQuerySet, viewer: str) -> FactQuerySet:
    return facts.filter(Q(tier__isnull=False) | Q(entry__chat__private=True)).visible_to(viewer)


def resting_beside(bank: Bank, facts: Collection[int], *, viewer: str = NOBODY) -> FactQuerySet:
    """Other facts that ``viewer`` may read and that rest on the same turns: erasing those turns deletes them, too."""
    own = {*facts, *FactSource.objects.filter(fact__in=facts).values_list("source_id", flat=True)}
    turns = FactOutput.objects.filter(fact__in=own, fact__bank=bank).values_list("output_id", flat=True)
    return facts_from(bank, set(turns), viewer=viewer).exclude(pk__in=facts)


def facts_from(bank: Bank, outputs: Collection[int], *, viewer: str = NOBODY) -> FactQuerySet:
    """The facts that ``viewer`` may read and that rest on these outputs, with the digest lines that restate them."""
    lost = set(FactOutput.objects.filter(output__in=outputs, fact__bank=bank).values_list("fact_id", flat=True))
    restating = FactSource.objects.filter(source__in=lost).values("fact")
    return browse(bank, viewer=viewer).filter(Q(pk__in=lost) | Q(pk__in=restating))


@at_present
def search_facts(bank: Bank, question: str, *, viewer: str = NOBODY, now: datetime = PRESENT) -> dict[FactState, float]:
    """The facts about the subject of a question that ``viewer`` may read, with their scores, best first.

    Replaced, hidden and quarantined facts are included, after all others. Last come the facts in which the last word
    only begins one. ``bank`` must have been read just now.
    """
    facts = facts_about(bank, question, limit=MAX_FOUND_FACTS, now=now, viewer=viewer)
    if facts:
        restating = FactSource.objects.filter(source__in=[fact.pk for fact in facts]).values("fact")
        lines = bank.facts.filter(tier__isnull=False, pk__in=restating).visible_to(viewer)
        facts |= dict.fromkeys(lines.states(viewer=viewer), 0.0)
    begun = _with_begun_word(bank, question, viewer, known={fact.pk for fact in facts})
    return _valid_first(facts) | _valid_first(dict.fromkeys(begun, BEGUN_WORD_SCORE))


def _valid_first(facts: Mapping[FactState, float]) -> dict[FactState, float]:
    return dict(sorted(facts.items(), key=lambda found: not found[0].is_visible))


def _with_begun_word(bank: Bank, question: str, viewer: str, *, known: Set[int]) -> list[FactState]:
    """The newest facts, other than ``known`` ones, that have all words of a question, of the last at least a beginning.

    They are found by their own text, because the index has no readable words (docs/decisions/0077).
    """
    before, begun = split_last_word(question)
    if len(begun) < MIN_BEGUN_CHARACTERS:
        return []
    whole = set(content_words(before))
    begins = re.compile(rf"(?:^|\W|_){re.escape(begun)}", re.IGNORECASE)
    facts = _readable(bank.facts.filter(containing(begun, "text", "speaker")), viewer)
    rows = facts.order_by("-said_on", "-pk").values_list("pk", "text", "speaker").iterator()
    texts = ((pk, f"{text} {speaker}") for pk, text, speaker in rows if pk not in known)
    likely = ((pk, text) for pk, text in texts if may_have_terms(text, whole) and begins.search(text))
    matching = (pk for pk, text in likely if whole <= set(content_words(text)))
    newest = {pk: place for place, pk in enumerate(islice(matching, MAX_FOUND_FACTS))}
    states = bank.facts.filter(pk__in=newest).states(viewer=viewer) if newest else []
    return sorted(states, key=lambda fact: newest[fact.pk])


def split_last_word(question: str) -> tuple[str, str]:
    """What stands before the last word, and this word as it is spelt; "" if there is none.

    Of hyphenated words it is the last one; identifiers stay whole, as in the index.
    """
    last = _LAST_WORD.match(question[::-1])
    if last is None:
        return question, ""
    word = last[1][::-1]
    before = question[: len(question) - last.end()]
    head, hyphen, begun = word.rpartition("-")
    if hyphen and all(map(str.isalpha, word.split("-"))):
        return f"{before}{head}", begun
    return before, word


def origins(bank: Bank, facts: Collection[Fact], *, viewer: str = NOBODY) -> dict[int, list[Origin]]:
    """For each of these facts, the turns it rests on that ``viewer`` may read, oldest first. Two queries."""
    ids = [fact.pk for fact in facts]
    turns = Output.objects.filter(chat__bank=bank).visible_to(viewer).order_by("sequence").distinct()
    columns = ("pk", "sequence", "chat_id", "chat__key", "author", "created_at", "metadata", "facts__entry__method")
    origins_by_fact: dict[int, list[Origin]] = defaultdict(list)
    for relation in ("facts", "facts__restated_by"):  # a leaf's facts, lines of digests
        for fact, *turn in turns.filter(**{f"{relation}__in": ids}).values_list(relation, *columns):
            origins_by_fact[fact].append(Origin(*turn))
    return origins_by_fact


def sentences(
    bank: Bank, places: Collection[tuple[int, int]], *, viewer: str = NOBODY
) -> dict[tuple[int, int], VisibleSentence]:
    """The sentence at each place (an output's id and an index in it) that ``viewer`` may read. Two queries.

    Places of sentences that were erased, hidden or made private since are missing.
    """
    lines = trusting(visible_sentences(bank, {output for output, _ in places}, viewer), trusted_speakers(bank.pk))
    sentences = {(output, line.place): line for output, visible in lines.items() for line in visible}
    return {place: sentences[place] for place in places if place in sentences}


def facts_stating(
    bank: Bank, sentences: Mapping[tuple[int, int], VisibleSentence | MemoryLine], *, viewer: str = NOBODY
) -> dict[tuple[int, int], int]:
    """For each of these sentences, by place, the fact that states the same of its turn and that ``viewer`` may read.

    Sentences that no fact states are missing. A recalled line is a sentence, too. One query.
    """
    readable = browse(bank, viewer=viewer).may_be_shown()
    cited = FactOutput.objects.filter(output__in={output for output, _ in sentences}, fact__in=readable.values("pk"))
    stated: dict[int, list[tuple[int, frozenset[str]]]] = defaultdict(list)
    for output, fact, text in cited.values_list("output", "fact", "fact__text"):
        stated[output].append((fact, distinct_terms(text)))
    found: dict[tuple[int, int], int] = {}
    for place, sentence in sentences.items():
        words = distinct_terms(sentence.text)
        same = [
            (len(words & own) / len(words | own), fact)
            for fact, own in stated[place[0]]
            if shares_most_words(words, own)
        ]
        if same:
            found[place] = max(same)[1]
    return found
