"""Search a bank's index for the turns that answer a question, best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice

from memorybank.language import dates
from memorybank.models import Bank, SearchDocument
from memorybank.reading.recall import ranking, vectors
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.index_terms import (
    FILLER_WORDS,
    NAME_SUFFIX,
    PartialDate,
    content_words,
    hash_word,
    is_broad,
    partial_dates,
    topic_words,
)
from memorybank.reading.recall.index_terms import possible_names as names_in
from memorybank.reading.recall.relevance import DECISIVE_FACTOR, IDF_POWER, Term, covered_share, relevance
from memorybank.reading.turn_filter import TurnFilter

#: Minimum of turns to score. The others have too little in common with the question.
MIN_RANKED_TURNS = 40
#: A longer message has pasted text, so only its two ends are searched for. Of 40 questions that 6,000 pasted characters
#: followed, 16 got a note of the place they ask about with ends of 150 characters, 2 with ends of 2,000.
MAX_QUESTION_CHARACTERS, END_CHARACTERS = 4_000, 150
#: Passages are searched in the chats of this many best turns.
MAX_PASSAGE_SEEDS = 60


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as the index understands it.

    ``names`` may be persons; ``exact`` (0…1) says how exact each of ``dates`` is; ``broad`` asks about a topic.
    """

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    exact: tuple[float, ...] = ()
    broad: bool = False


@dataclass(slots=True)
class SearchResult:
    """Turns with their scores, best first; for each word of the question, its idf in this bank and its turns.

    ``names`` are those of the question that are the whole name of somebody who spoke. ``relevance`` (0…1) says how much
    the bank has to say about the question at all; the scores only compare turns.
    """

    ranked: list[tuple[int, float]] = field(default_factory=list)
    idfs: dict[str, float] = field(default_factory=dict)
    postings: list[list[int]] = field(default_factory=list)
    names: frozenset[str] = frozenset()
    relevance: float = 0.0


def _bounded(question: str) -> str:
    """The two ends of a long message: people write their request there, around pasted text."""
    if len(question) <= MAX_QUESTION_CHARACTERS:
        return question
    return f"{question[:END_CHARACTERS]}\n{question[-END_CHARACTERS:]}"


def parse_question(bank: Bank, question: str, now: datetime | None) -> ParsedQuestion:
    """The question's words, names and dates; "yesterday" is relative to ``now`` in the bank's time zone."""
    question = _bounded(question)
    absolute = dates.resolve(question, now.astimezone(bank.tz).date(), replace=True) if now else question
    named = sorted(partial_dates(absolute), key=PartialDate.word)
    date_terms = tuple(partial.word() for partial in named)
    words, names = topic_words(absolute), names_in(question)
    return ParsedQuestion(
        question, tuple(words), tuple(names), date_terms, tuple(map(_exactness, named)), is_broad(absolute)
    )


def _exactness(partial: PartialDate) -> float:
    """The exactness of a date, 0…1: a day counts more than a month, a month more than a year."""
    return 1.0 if partial.day else 0.5 if partial.month else 0.25


def search(
    known: IndexCache, question: ParsedQuestion, *, without: int | None, limit: int, within: TurnFilter | None = None
) -> SearchResult:
    """The ``limit`` best turns that the viewer of ``known`` may read; turns of others do not influence the scores.

    ``without`` is the id of a chat that is left out. With ``within`` only matching turns count, as if the bank had no
    others.
    """
    bank = known.bank
    terms = (*question.words, *question.dates, *(name + NAME_SUFFIX for name in question.names))
    hashes = [hash_word(bank.pk, word) for word in terms]
    postings, total = known.postings(hashes, without)
    documents = None
    if within:
        documents = SearchDocument.objects.filter(output__in=within.outputs(bank).order_by().values("pk"), bank=bank)
        allowed = set(documents.visible_to(known.viewer).values_list("pk", flat=True))
        total = len(allowed)
        postings = [[pk for pk in turns if pk in allowed] for turns in postings]
    compared = vectors.compare(known, question.text, total=total, without=without, within=documents)
    if not (any(postings) or compared.nearest):
        return SearchResult()
    remaining = iter(postings)
    by_word, by_date = (list(islice(remaining, len(part))) for part in (question.words, question.dates))
    by_name = {name: turns for name, turns in zip(question.names, remaining, strict=True) if turns}
    idfs = _idfs(dict(zip(question.words, by_word, strict=True)), by_name, total)
    dated = _date_scores(by_date, question.exact)
    others = [*by_date, *by_name.values()]
    max_ranked = max(MIN_RANKED_TURNS, limit)
    all_idfs = [*idfs, *(ranking.idf(len(turns), total) for turns in others)]
    shortlist = ranking.shortlist([*by_word, *others], all_idfs, max_ranked)
    shortlist = list(dict.fromkeys([*shortlist, *compared.nearest[:max_ranked]]))
    turns = known.indexed_turns(shortlist, hashes[: len(question.words)])
    spoken = frozenset(chain.from_iterable(by_name.values()))
    similarities = compared.similarities([turn.id for turn in turns])
    scored = ranking.scores(turns, idfs, dated=dated, spoken=spoken, near=similarities.relative())
    ranked = sorted((hit for hit in scored.items() if hit[1] > 0), key=lambda hit: (-hit[1], -hit[0]))
    by_idf = dict(zip(question.words, idfs, strict=True))
    share = covered_share(_terms(by_idf, by_word, by_date, by_name, total), turns)
    return SearchResult(ranked[:limit], by_idf, by_word, frozenset(by_name), relevance(share, total))


def score_passages(known: IndexCache, result: SearchResult) -> dict[int, float]:
    """How much of the question is mentioned around the turns of the best turns' chats, 0…1."""
    chats = known.chat_turns(pk for pk, _ in result.ranked[:MAX_PASSAGE_SEEDS])
    return ranking.passage_scores(chats, result.postings, list(result.idfs.values()))


def _terms(
    idfs: Mapping[str, float],
    by_word: Sequence[Sequence[int]],
    by_date: Iterable[Sequence[int]],
    by_name: Mapping[str, Sequence[int]],
    total: int,
) -> list[Term]:
    """The question's words and dates as terms with weights.

    Words of small talk do not count, so a message of only such words is about nothing.
    """
    spoken, rarest = _spoken_words(by_name), ranking.idf(0, total)

    def term(idf: float, turns: Sequence[int], speaking: frozenset[int] = frozenset()) -> Term:
        weight = DECISIVE_FACTOR * rarest**IDF_POWER if speaking or not turns else idf**IDF_POWER
        return Term(weight, speaking.union(turns))

    informative = idfs.keys() - FILLER_WORDS
    words = [
        term(idf, turns, spoken.get(word, frozenset()))
        for (word, idf), turns in zip(idfs.items(), by_word, strict=True)
        if word in informative
    ]
    return [*words, *(term(ranking.idf(len(turns), total), turns) for turns in by_date)]


def _spoken_words(by_name: Mapping[str, Sequence[int]]) -> dict[str, frozenset[int]]:
    """The words of the names, each with the turns in which that person speaks."""
    spoken: dict[str, frozenset[int]] = {}
    for name, turns in by_name.items():
        for word in content_words(name):
            spoken[word] = spoken.get(word, frozenset()).union(turns)
    return spoken


def _idfs(by_word: Mapping[str, Sequence[int]], by_name: Mapping[str, Sequence[int]], total: int) -> list[float]:
    """The idf of each word. A name also counts in turns of that speaker; else it would seem rare in their chats."""
    spoken = _spoken_words(by_name)
    return [ranking.idf(len(spoken.get(word, frozenset()).union(turns)), total) for word, turns in by_word.items()]


def _date_scores(postings: Sequence[Sequence[int]], exact: Sequence[float]) -> dict[int, float]:
    """How well each turn matches the dates of the question, 0…1."""
    scores: dict[int, float] = {}
    for turns, value in zip(postings, exact, strict=True):
        for pk in turns:
            scores[pk] = max(scores.get(pk, 0.0), value)
    return scores
