"""Find notes for a question: the best sentences of the best turns, preferring the best passages."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from memorybank.core.packing.notes import Passage
from memorybank.language import dates
from memorybank.models import NOBODY, Bank
from memorybank.models.fact import Replacement
from memorybank.reading.recall.index_cache import IndexCache, ReadTurn
from memorybank.reading.recall.index_terms import content_words, words_naming
from memorybank.reading.recall.searching import ParsedQuestion, SearchResult, parse_question, score_passages, search
from memorybank.reading.recall.visibility import VisibleSentence, replacing_line

#: The value of a sentence depends on its turn's score and its passage's, on its share of the question's words, on
#: whether the question names its speaker, on its prior, and on its length. Chosen on dialogues and on meetings.
TURN_SCORE_POWER, NAMED_SPEAKER_BONUS = 2.0, 3.0
#: From this share of the best passage's score on, turns are read that have no word of the question.
MIN_PASSAGE_SCORE = 0.3
#: The value of a sentence is multiplied by this for each part that was replaced.
REPLACED_PART_FACTOR = 0.5
#: Cost of starting a turn's paragraph: its date and its speakers.
PARAGRAPH_TOKENS = 6
MAX_TURNS_READ = 120
#: Sentences offered beyond those that should fit, as a share of the budget.
SPARE_SHARE = 0.3
_WORD = re.compile(r"\w+")
# "yesterday (7 May 2023)": facts have the date alone.
_RELATIVE_DATE = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]++ ){1,2}(?=\([^()]{0,40}\d{4}[^()]{0,40}\))")


@dataclass(frozen=True, slots=True)
class ScoringProfile:
    """How sentences are scored for a kind of question.

    ``passage``: weight of being in the best passage, relative to being the best turn. ``focus``: how fast that weight
    falls in lesser passages. ``asked``: what having all words of the question adds to the factor 1 for having none.
    ``enough``: a sentence counts half when better ones of its turn have this many tokens. ``telling``: the content
    words that it needs to be useful.
    """

    passage: float
    focus: float
    asked: float
    enough: int
    telling: int


#: For one fact, from any turn; and for a topic, from every turn of its passages.
SINGLE_FACT, BROAD_TOPIC = ScoringProfile(0.06, 3.0, 4.0, 120, 1), ScoringProfile(2.0, 1.5, 1.0, 8, 2)
#: A topic, as a named person spoke of it: that lies closer together than what all have said.
BROAD_TOPIC_OF_SPEAKER = replace(BROAD_TOPIC, focus=3.0)


class CandidateSentence(NamedTuple):
    """One sentence of a turn that was found, with its value for the question."""

    turn: int
    place: int
    speaker: str
    text: str
    tokens: int
    value: float
    asked: tuple[str, ...] = ()
    named: bool = False
    ends: tuple[Replacement, ...] = ()
    behind: tuple[tuple[int, int], ...] = ()
    approved: bool = False


#: Where a sentence stands: its turn, by id, and its place in it. JSON makes a list of it.
SentencePlace = Sequence[int]


@dataclass(frozen=True, slots=True)
class RecalledPassages:
    """Sentences that answer a message, best first, and the tokens that they are worth."""

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

    The less of the question the bank knows, the fewer tokens; none if it shares no more than chance would give.
    Leaves out what the ``given`` lines say already, and the chat with the id ``without``. Reads the index and the turns
    it names, as far as they are not ``known``; writes nothing.
    """
    parsed = parse_question(known.bank, question, now)
    result = search(known, parsed, without=without, most=MAX_TURNS_READ)
    max_tokens = int(max_tokens * result.relevance)
    if not result.ranked or not max_tokens:
        return RecalledPassages()
    profile = choose_profile(parsed, result)
    valued = _turn_values(result, score_passages(known, result), profile)
    turns = {turn.pk: turn for turn in known.read(valued)}
    repeats = known.keep(("given", *given), partial(RepeatFilter, given), RepeatFilter.size)
    matcher = QuestionMatcher(profile, result, parsed.text)
    sentences: list[CandidateSentence] = []
    for pk, turn in turns.items():
        sentences += discount_same_turn(_candidate_sentences(turn, valued[pk], matcher, repeats), profile.enough)
    ranks = {turn: rank for rank, turn in enumerate(sorted(valued, key=lambda turn: -valued[turn]), start=1)}
    chosen = choose_sentences(sentences, max_tokens)
    return RecalledPassages(tuple(_passages(known, chosen, turns, ranks, without)), max_tokens)


def given_passages(known: IndexCache, places: Sequence[SentencePlace], *, without: int | None = None) -> list[Passage]:
    """The sentences at these places as they may be shown now; those that may not are left out."""
    turns = {turn.pk: turn for turn in known.read(dict.fromkeys(output for output, _ in places))}
    sentences = {(pk, one.line.place): one for pk, turn in turns.items() for one in turn.sentences}
    chosen = [
        CandidateSentence(place[0], place[1], one.line.speaker, one.line.text, one.tokens, 0.0, ends=one.line.ends)
        for place in places
        if (one := sentences.get((place[0], place[1])))
    ]
    return list(_passages(known, chosen, turns, {}, without))


def _passages(
    known: IndexCache,
    chosen: Sequence[CandidateSentence],
    turns: dict[int, ReadTurn],
    ranks: Mapping[int, int],
    without: int | None,
) -> Iterator[Passage]:
    """The chosen sentences, those that were replaced in part behind what replaced them, which is read as well."""
    others = {output for sentence in chosen for end in sentence.ends for output in end.citations} - turns.keys()
    turns = turns | {turn.pk: turn for turn in known.read(others) if turn.chat != without}
    lines = {pk: turn.lines for pk, turn in turns.items()} if any(one.ends for one in chosen) else {}
    for sentence in follow_replacements(chosen, lines):
        yield _to_passage(sentence, turns[sentence.turn], ranks.get(sentence.turn, 0))


def visible_sentences(bank: Bank, turns: Iterable[int], viewer: str = NOBODY) -> dict[int, list[VisibleSentence]]:
    """The lines of these turns that may be shown now, with their places; none of a turn that recall excludes."""
    return {turn.pk: turn.lines for turn in IndexCache(bank, viewer).read(turns)}


def choose_profile(question: ParsedQuestion, result: SearchResult) -> ScoringProfile:
    if not question.broad:
        return SINGLE_FACT
    return BROAD_TOPIC_OF_SPEAKER if result.names else BROAD_TOPIC


def _turn_values(result: SearchResult, passages: Mapping[int, float], profile: ScoringProfile) -> dict[int, float]:
    """The turns that were found and those of the best passages, each with the value of the turn and its passage."""
    scores = {turn: score / result.ranked[0][1] for turn, score in result.ranked}
    near = sorted(
        (turn for turn, value in passages.items() if value >= MIN_PASSAGE_SCORE), key=lambda turn: -passages[turn]
    )
    # A turn in a good passage counts a little even without a word of the question: it may hold the answer.
    return {
        turn: scores.get(turn, 0.0) ** TURN_SCORE_POWER + profile.passage * passages.get(turn, 0.0) ** profile.focus
        for turn in dict.fromkeys([*scores, *near[:MAX_TURNS_READ]])
    }


class QuestionMatcher:
    """Scores sentences against a question: its profile, and its words with their idf."""

    def __init__(self, profile: ScoringProfile, result: SearchResult, question: str) -> None:
        self.profile, self.idfs, self._names = profile, result.idfs, result.names
        self._asked = frozenset(result.idfs)
        self._whole = sum(result.idfs.values()) or 1.0
        self._named: dict[str, bool] = {}
        taken = {word for name in result.names for word in name.split()}
        capitals = (word for word in _WORD.findall(question) if word != word.lower())
        self._capitals = {word for word in capitals if word.casefold() not in taken}

    def names(self, speaker: str) -> bool:
        """Whether the question names the speaker: by the whole name, or by a capitalised part that is no other's."""
        if speaker not in self._named:
            whole = words_naming(speaker)
            spelt = {form for word in _WORD.findall(speaker) for form in (word, word.capitalize())}
            called = bool(whole) and self._names.issuperset(whole)
            self._named[speaker] = called or not self._capitals.isdisjoint(spelt)
        return self._named[speaker]

    def match(self, words: frozenset[str]) -> tuple[tuple[str, ...], float]:
        """The words of the question that are among these, and their share of it, 0…1."""
        if self._asked.isdisjoint(words):
            return (), 0.0
        has = tuple([word for word in self.idfs if word in words])
        return has, sum([self.idfs[word] for word in has]) / self._whole


class RepeatFilter:
    """Recognises sentences that the given lines say already."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._having: dict[str, list[frozenset[str]]] = {}
        self._said: dict[str, bool] = {}
        for line in lines:
            words = frozenset(content_words(line))
            for word in words:
                self._having.setdefault(word, []).append(words)

    def size(self) -> int:
        """About how many bytes it holds, with what it will remember of sentences."""
        return 1_000 * len(self._having)

    def says(self, text: str, words: frozenset[str]) -> bool:
        """Whether one line has every word of the sentence, however dates are written."""
        if text not in self._said:
            self._said[text] = self._has(text, words)
        return self._said[text]

    def _has(self, text: str, words: frozenset[str]) -> bool:
        undated = _RELATIVE_DATE.sub("", text)
        words = words if undated == text else frozenset(content_words(undated))
        fewest = min((self._having.get(word, []) for word in words), key=len, default=[])
        return any(words <= line for line in fewest)


def _candidate_sentences(
    turn: ReadTurn, turn_value: float, matcher: QuestionMatcher, repeats: RepeatFilter
) -> Iterator[CandidateSentence]:
    """The turn's sentences that say enough and are not given, with their values."""
    named_by, least, said = matcher.names, matcher.profile.telling, repeats.says
    for (speaker, text, _, place, ends, approved), words, telling, size, worth, length in turn.sentences:
        if telling < least or said(text, words):
            continue
        (has, share), named = matcher.match(words), named_by(speaker)
        relevance = (1 + matcher.profile.asked * share) * (1 + (NAMED_SPEAKER_BONUS if named else 0.0))
        value = turn_value * relevance * worth / length
        value *= REPLACED_PART_FACTOR ** len(ends) if ends else 1.0
        yield CandidateSentence(turn.pk, place, speaker, text, size, float(value), has, named, ends, (), approved)


def discount_same_turn(sentences: Iterable[CandidateSentence], enough: int) -> Iterator[CandidateSentence]:
    """A turn's sentences; each loses value the more its better ones say. Pure."""
    tokens_before = 0
    for sentence in sorted(sentences, key=lambda one: (-one.value, one.place)):
        yield (
            sentence._replace(value=sentence.value / (1 + (tokens_before / enough) ** 2)) if tokens_before else sentence
        )
        tokens_before += sentence.tokens


def choose_sentences(sentences: Iterable[CandidateSentence], max_tokens: int) -> list[CandidateSentence]:
    """The best that fit ``max_tokens`` tokens with their dates and speakers, best first, plus SPARE_SHARE. Pure."""
    chosen, opened, tokens_left = [], set(), max_tokens * (1 + SPARE_SHARE)
    for sentence in sorted(sentences, key=lambda one: (-one.value, -one.turn, one.place)):
        cost = sentence.tokens + 1 + (0 if sentence.turn in opened else PARAGRAPH_TOKENS)
        if cost <= tokens_left:
            chosen.append(sentence)
            opened.add(sentence.turn)
            tokens_left -= cost
    return chosen


def follow_replacements(
    sentences: Iterable[CandidateSentence], lines: Mapping[int, Sequence[VisibleSentence]]
) -> Iterator[CandidateSentence]:
    """The sentences; one replaced in part follows what replaced it, or is left out if that is not visible. Pure."""
    for sentence in sentences:
        replacing = [match for end in sentence.ends if (match := replacing_line(end, lines))]
        if len(replacing) < len(sentence.ends):
            continue
        for turn, line in replacing:
            place, speaker, text, approved = line.place, line.speaker, line.text, line.approved
            yield sentence._replace(turn=turn, place=place, speaker=speaker, text=text, ends=(), approved=approved)
        yield sentence._replace(behind=tuple((turn, line.place) for turn, line in replacing))


def _to_passage(sentence: CandidateSentence, turn: ReadTurn, rank: int) -> Passage:
    return Passage(
        output=turn.pk,
        place=sentence.place,
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
        approved=sentence.approved,
    )
