"""Find notes for a question: the best sentences of the best turns, preferring the best passages.

A note that a model wrote of a chat competes with the sentences of the turns that it cites. It tells something of each
of them in few words, so its value is that of all these turns together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memorybank.core.packing.notes import Passage
from memorybank.language import dates
from memorybank.models import NOBODY, Bank
from memorybank.reading.recall.index_cache import IndexCache, ReadTurn
from memorybank.reading.recall.searching import ParsedQuestion, SearchResult, parse_question, score_passages, search
from memorybank.reading.recall.sentence_choice import (
    BROAD_TOPIC,
    BROAD_TOPIC_OF_SPEAKER,
    SINGLE_FACT,
    CandidateTurn,
    ChosenSentence,
    NoteValue,
    QuestionMatcher,
    RepeatFilter,
    Room,
    ScoringProfile,
    best_first,
    choose_sentences,
)
from memorybank.reading.recall.visibility import VisibleSentence, replacing_line

#: Turns of passages with at least this share of the best passage's score are read even without a word of the question.
MIN_PASSAGE_SCORE = 0.3
#: A turn's value is its score to this power.
TURN_SCORE_POWER = 2.0
MAX_TURNS_READ = 120
#: The position of a sentence: the id of its turn and its index in the turn. JSON turns the pair into a list.
SentencePlace = Sequence[int]


@dataclass(frozen=True, slots=True)
class RecalledPassages:
    """Sentences that answer a message, best first, and the maximum of tokens for notes of them."""

    passages: tuple[Passage, ...] = ()
    max_tokens: int = 0


def find_passages(
    known: IndexCache,
    question: str,
    *,
    max_tokens: int,
    given: Sequence[str] = (),
    without: int | None = None,
    now: datetime | None = None,
) -> RecalledPassages:
    """Sentences that answer ``question`` in at most ``max_tokens`` tokens (and a few spare ones), best first.

    The limit shrinks with the share of the question that the bank knows, down to 0 for a share that chance would give.
    Leaves out sentences that the ``given`` lines say already, and the chat with the id ``without``. Reads the index and
    turns only where ``known`` has not cached them; writes nothing but the records of a call for an embedding.
    """
    parsed = parse_question(known.bank, question, now)
    result = search(known, parsed, without=without, limit=MAX_TURNS_READ)
    max_tokens = int(max_tokens * result.relevance)
    if not result.ranked or not max_tokens:
        return RecalledPassages()
    profile = choose_profile(parsed, result)
    valued = _turn_values(result, score_passages(known, result), profile)
    turns = {turn.pk: turn for turn in known.read(valued)}
    repeats = known.keep(("given", *given), partial(RepeatFilter, given), RepeatFilter.size)
    matcher = QuestionMatcher(profile, parsed.text, result.idfs, result.names)
    note_values = _values_of_notes(turns.values(), valued)
    candidates = [
        CandidateTurn(pk, valued[pk], repeats.new_sentences(turn, profile.telling)) for pk, turn in turns.items()
    ]
    ranks = {turn: rank for rank, turn in enumerate(sorted(valued, key=lambda turn: -valued[turn]), start=1)}
    room = Room(max_tokens)
    chosen = choose_sentences(best_first(candidates, matcher, note_values, room), room)
    return RecalledPassages(tuple(_passages(known, chosen, turns, ranks, without)), max_tokens)


def given_passages(known: IndexCache, places: Sequence[SentencePlace], *, without: int | None = None) -> list[Passage]:
    """The sentences at these places as they may be shown now; those that may not are left out."""
    turns = {turn.pk: turn for turn in known.read(dict.fromkeys(output for output, _ in places))}
    sentences = {(pk, one.line.place): one for pk, turn in turns.items() for one in turn.sentences}
    chosen = [
        ChosenSentence(place[0], place[1], one.line.speaker, one.line.text, ends=one.line.ends)
        for place in places
        if (one := sentences.get((place[0], place[1])))
    ]
    return list(_passages(known, chosen, turns, {}, without))


def _passages(
    known: IndexCache,
    chosen: Sequence[ChosenSentence],
    turns: dict[int, ReadTurn],
    ranks: Mapping[int, int],
    without: int | None,
) -> Iterator[Passage]:
    """The chosen sentences, each partly replaced one after the sentence that replaced it, which is read here."""
    others = {output for sentence in chosen for end in sentence.ends for output in end.citations} - turns.keys()
    turns = turns | {turn.pk: turn for turn in known.read(others) if turn.chat != without}
    lines = {pk: turn.lines for pk, turn in turns.items()} if any(one.ends for one in chosen) else {}
    for sentence in follow_replacements(chosen, lines):
        yield _to_passage(sentence, turns[sentence.turn], ranks.get(sentence.turn, 0))


def visible_sentences(bank: Bank, turns: Iterable[int], viewer: str = NOBODY) -> dict[int, list[VisibleSentence]]:
    """The sentences of these turns that may be shown now, with their places; turns that recall excludes are missing."""
    return {turn.pk: turn.lines for turn in IndexCache(bank, viewer).read(turns)}


def choose_profile(question: ParsedQuestion, result: SearchResult) -> ScoringProfile:
    if not question.broad:
        return SINGLE_FACT
    return BROAD_TOPIC_OF_SPEAKER if result.names else BROAD_TOPIC


def _turn_values(result: SearchResult, passages: Mapping[int, float], profile: ScoringProfile) -> dict[int, float]:
    """The value of each turn that was found or lies in one of the best passages, by its own and the passage's score."""
    scores = {turn: score / result.ranked[0][1] for turn, score in result.ranked}
    near = sorted(
        (turn for turn, value in passages.items() if value >= MIN_PASSAGE_SCORE), key=lambda turn: -passages[turn]
    )
    # A turn in a good passage counts a little even without a word of the question: it may hold the answer.
    return {
        turn: scores.get(turn, 0.0) ** TURN_SCORE_POWER + profile.passage * passages.get(turn, 0.0) ** profile.focus
        for turn in dict.fromkeys([*scores, *near[:MAX_TURNS_READ]])
    }


def _values_of_notes(turns: Iterable[ReadTurn], valued: Mapping[int, float]) -> dict[int, NoteValue]:
    """The value of each note of these turns, by its place."""
    citing: dict[int, list[tuple[float, int]]] = {}
    for turn in turns:
        for place in turn.notes:
            citing.setdefault(place, []).append((valued[turn.pk], turn.pk))
    return {place: NoteValue(sum(value for value, _ in own), max(own)[1]) for place, own in citing.items()}


def follow_replacements(
    sentences: Iterable[ChosenSentence], lines: Mapping[int, Sequence[VisibleSentence]]
) -> Iterator[ChosenSentence]:
    """Put the replacement of a sentence's part before the sentence; drop both if it is not visible. Pure."""
    for sentence in sentences:
        if not sentence.ends:
            yield sentence
            continue
        replacing = [match for end in sentence.ends if (match := replacing_line(end, lines))]
        if len(replacing) < len(sentence.ends):
            continue
        for turn, line in replacing:
            yield sentence._replace(
                turn=turn,
                ends=(),
                place=line.place,
                speaker=line.speaker,
                text=line.text,
                reported=line.reported,
                approved=line.approved,
            )
        yield sentence._replace(behind=tuple((turn, line.place) for turn, line in replacing))


def _to_passage(sentence: ChosenSentence, turn: ReadTurn, rank: int) -> Passage:
    return Passage(
        source=(turn.pk, sentence.place),
        text=sentence.text,
        at=turn.said_at,
        chat=turn.chat,
        chat_key=turn.chat_key,
        label=dates.format_date(turn.said_at.date()),
        speaker=sentence.speaker,
        asked=sentence.asked,
        named=sentence.named,
        rank=rank,
        behind=sentence.behind,
        private=turn.private,
        reported=sentence.reported,
        approved=sentence.approved,
    )
