"""Search results for people and programs: turns as memory shows them, and the facts that cite them."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memorybank.clock import PRESENT, at_present
from memorybank.core.fact_state import FactState
from memorybank.models import NOBODY, Bank, Entry, Fact, FactOutput, SearchDocument
from memorybank.reading.recall.index_cache import IndexCache, MemoryState, kept
from memorybank.reading.recall.index_terms import content_words
from memorybank.reading.recall.searching import SearchResult, parse_question, search
from memorybank.reading.recall.visibility import as_paragraphs, trusting, visible_lines
from memorybank.reading.trust import trusted_speakers
from memorybank.reading.turn_filter import TurnFilter
from memorybank.safety.reasons import is_reported

#: Minimum share of its turn's score that a fact gets; the rest depends on its share of the question's words.
MIN_FACT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn ("output") or a fact that answers a question. ``pk`` is its own id, ``chat`` the chat's key.

    The text of a turn names its speakers. That of a fact has neither its ``speaker`` nor the quotes of a report.
    """

    kind: Literal["fact", "output"]
    pk: int
    chat: str
    text: str
    score: float
    created_at: datetime
    citations: tuple[int, ...]
    speaker: str = ""
    is_report: bool = False


@at_present
def recall(
    bank: Bank,
    question: str,
    *,
    top: int = 10,
    exclude_chat: str = "",
    within: TurnFilter | None = None,
    kinds: Collection[str] = (),
    threshold: float = 0.0,
    viewer: str = NOBODY,
    now: datetime = PRESENT,
) -> list[Hit]:
    """The ``top`` best hits for a question, best first; [] if the bank is off or nothing matches.

    ``within`` restricts hits to matching turns and facts that cite one, ``kinds`` to "output" or kinds of facts. Hits
    with a score below ``threshold`` are left out.

    Excludes private chats that ``viewer`` may not read, the excluded chat, and hidden, quarantined and superseded
    facts. "Yesterday" in the question is relative to ``now``.
    """
    if not bank.enabled or top < 1:
        return []
    index, parsed = IndexCache(bank, viewer), parse_question(bank, question, now)
    result = search(index, parsed, without=index.find_chat(exclude_chat), limit=top, within=within)
    scores = dict(result.ranked)
    rows = SearchDocument.objects.of(bank).filter(pk__in=list(scores)).visible_to(viewer)
    turns = list(rows.values_list("pk", "chat__key", "lines", "said_at", "chat_id", "sequence"))
    facts = _facts_of_turns([row[4:] for row in turns], viewer)
    trusted = trusted_speakers(bank.pk) if turns else frozenset()
    visible = trusting(visible_lines({row[0]: row[2] for row in turns}, facts), trusted)
    lines = {turn: [line for line in own if not (line.ends or line.is_note)] for turn, own in visible.items()}
    hits = {
        pk: Hit("output", pk, key, as_paragraphs(lines[pk]), round(scores[pk], 4), said_at, (pk,))
        for pk, key, _, said_at, *_ in turns
        if lines[pk]
    }
    fact_hits = [hit for fact in facts if fact.is_visible and (hit := _fact_hit(fact, hits, result, trusted))]
    every = [hit for hit in (*hits.values(), *fact_hits) if hit.score >= threshold]
    wanted = _of_kinds(every, kinds) if kinds else every
    return sorted(wanted, key=lambda hit: (-hit.score, hit.kind == "fact", -hit.pk))[:top]


def _of_kinds(hits: list[Hit], kinds: Collection[str]) -> list[Hit]:
    facts = Fact.objects.filter(pk__in=[hit.pk for hit in hits if hit.kind == "fact"], kind__in=kinds)
    wanted = set(facts.values_list("pk", flat=True))
    return [hit for hit in hits if (hit.pk in wanted if hit.kind == "fact" else "output" in kinds)]


def facts_about(
    bank: Bank, question: str, *, limit: int, now: datetime, viewer: str = NOBODY
) -> dict[FactState, float]:
    """The leaf facts about a question's subject that ``viewer`` may read, with scores, best first; hidden ones, too."""
    state = MemoryState(bank.version, bank.epoch, bank.index_version)
    result = search(kept.find(bank, viewer, state), parse_question(bank, question, now), without=None, limit=limit)
    scores = dict(result.ranked)
    if not scores:
        return {}
    citing = FactOutput.objects.filter(output__in=list(scores), output__chat__bank=bank).values("fact")
    values: dict[FactState, float] = {}
    for fact in bank.facts.filter(pk__in=citing).visible_to(viewer).states(viewer=viewer):
        share = _question_share(f"{fact.text} {fact.original_text} {fact.speaker}", result)
        if share and (cited := [scores[turn] for turn in fact.citations if turn in scores]):
            values[fact] = max(cited) * (MIN_FACT_SHARE + (1 - MIN_FACT_SHARE) * share)
    best = sorted(values, key=lambda fact: (-values[fact], -fact.pk))[:limit]
    return {fact: values[fact] for fact in best}


def _facts_of_turns(turns: Collection[tuple[int, int]], viewer: str) -> list[FactState]:
    """The leaf facts that may cite these turns, in the state in which ``viewer`` may see them."""
    places = defaultdict(list)
    for chat, sequence in turns:
        places[chat].append(sequence)
    ranges = Entry.objects.leaves().filter(chat__in=places).values_list("pk", "chat", "first_output", "last_output")
    covering = [
        pk
        for pk, chat, first, last in ranges
        if any((first or 0) <= place <= (last or 0) for place in places[chat or 0])
    ]
    return Fact.objects.filter(entry__in=covering).states(viewer=viewer) if covering else []


def _fact_hit(fact: FactState, turns: Mapping[int, Hit], result: SearchResult, trusted: Collection[str]) -> Hit | None:
    cited = [turns[output] for output in fact.citations if output in turns]
    if not cited:
        return None
    best = max(cited, key=lambda hit: hit.score)
    score = best.score * (MIN_FACT_SHARE + (1 - MIN_FACT_SHARE) * _question_share(fact.text, result))
    is_report = is_reported(fact.reported, trusted=fact.speaker in trusted)
    place = best.chat, fact.text, round(score, 4), best.created_at
    return Hit("fact", fact.pk, *place, fact.citations, fact.speaker, is_report)


def _question_share(text: str, result: SearchResult) -> float:
    """The share of the question's words that is in the text, weighted by rarity: 0…1."""
    words = set(content_words(text))
    total = sum(result.idfs.values())
    return sum(idf for word, idf in result.idfs.items() if word in words) / total if total else 0.0
