"""Find notes for a question: the best sentences of the best turns, preferring the best passages.

A note that a model wrote of a chat competes with the sentences of the turns that it cites. It tells something of each
of them in few words, so its value is that of all these turns together.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from memorybank.core.packing.notes import Passage
from memorybank.language import dates
from memorybank.models import NOBODY, Bank
from memorybank.models.fact import ReplacingFact
from memorybank.reading.recall.index_cache import IndexCache, ReadSentence, ReadTurn
from memorybank.reading.recall.index_terms import content_words, words_naming
from memorybank.reading.recall.searching import ParsedQuestion, SearchResult, parse_question, score_passages, search
from memorybank.reading.recall.visibility import VisibleSentence, replacing_line

#: The value of a sentence depends on its turn's score and its passage's, on its share of the question's words, on
#: whether the question names its speaker, on its prior, and on its length. Chosen on dialogues and on meetings.
TURN_SCORE_POWER, NAMED_SPEAKER_BONUS = 2.0, 3.0
#: Turns of passages with at least this share of the best passage's score are read even without a word of the question.
MIN_PASSAGE_SCORE = 0.3
#: The value of a sentence is multiplied by this for each part that was replaced.
REPLACED_PART_FACTOR = 0.5
#: Tokens that starting a turn's paragraph costs: its date and its speakers.
PARAGRAPH_TOKENS = 6
MAX_TURNS_READ = 120
#: Spare sentences, offered in addition to those that should fit, as a share of the budget.
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
#: For a topic as a named person spoke of it: one person's turns on it lie closer together than everybody's.
BROAD_TOPIC_OF_SPEAKER = replace(BROAD_TOPIC, focus=3.0)


class ChosenSentence(NamedTuple):
    """One sentence of a turn that was found."""

    turn: int
    place: int
    speaker: str
    text: str
    asked: tuple[str, ...] = ()
    named: bool = False
    ends: tuple[ReplacingFact, ...] = ()
    behind: tuple[tuple[int, int], ...] = ()
    approved: bool = False


#: The sort key (negated value, negated turn id, place), the sentence, the words of the question that it has, and
#: whether the question names its speaker. A plain tuple, because a question has hundreds of them.
CandidateSentence = tuple[float, int, int, ReadSentence, tuple[str, ...], bool]
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
    result = search(known, parsed, without=without, most=MAX_TURNS_READ)
    max_tokens = int(max_tokens * result.relevance)
    if not result.ranked or not max_tokens:
        return RecalledPassages()
    profile = choose_profile(parsed, result)
    valued = _turn_values(result, score_passages(known, result), profile)
    turns = {turn.pk: turn for turn in known.read(valued)}
    repeats = known.keep(("given", *given), partial(RepeatFilter, given), RepeatFilter.size)
    matcher = QuestionMatcher(profile, result, parsed.text)
    told = _values_of_notes(turns.values(), valued)
    sentences: list[CandidateSentence] = []
    for pk, turn in turns.items():
        sentences += _candidate_sentences(turn, valued[pk], matcher, repeats, told)
    ranks = {turn: rank for rank, turn in enumerate(sorted(valued, key=lambda turn: -valued[turn]), start=1)}
    chosen = choose_sentences(sentences, max_tokens)
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


class NoteValue(NamedTuple):
    """What a note is worth: the values of the turns that it cites together, and the best of these turns, by id."""

    value: float
    turn: int


def _values_of_notes(turns: Iterable[ReadTurn], valued: Mapping[int, float]) -> dict[int, NoteValue]:
    """The value of each note of these turns, by its place."""
    citing: dict[int, list[tuple[float, int]]] = {}
    for turn in turns:
        for sentence in turn.sentences:
            if sentence.line.is_note:
                citing.setdefault(sentence.line.place, []).append((valued[turn.pk], turn.pk))
    return {place: NoteValue(sum(value for value, _ in own), max(own)[1]) for place, own in citing.items()}


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
        """Whether the question names the speaker: by the whole name, or by a capitalised part not of another name."""
        if speaker not in self._named:
            whole = words_naming(speaker)
            spelt = {form for word in _WORD.findall(speaker) for form in (word, word.capitalize())}
            called = bool(whole) and self._names.issuperset(whole)
            self._named[speaker] = called or not self._capitals.isdisjoint(spelt)
        return self._named[speaker]

    def match(self, words: frozenset[str]) -> tuple[tuple[str, ...], float]:
        """The words of the question that are in ``words``, and their share of the question's idf, 0…1."""
        if self._asked.isdisjoint(words):
            return (), 0.0
        has = tuple([word for word in self.idfs if word in words])
        return has, sum([self.idfs[word] for word in has]) / self._whole


class RepeatFilter:
    """Recognise sentences whose words the given lines have already."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._having: dict[str, list[frozenset[str]]] = {}
        self._new: dict[tuple[int, int], list[ReadSentence]] = {}
        for line in lines:
            words = frozenset(content_words(line))
            for word in words:
                self._having.setdefault(word, []).append(words)

    def size(self) -> int:
        """Approximate memory in bytes, with the results that it will cache."""
        return 1_000 * len(self._having)

    def new_sentences(self, turn: ReadTurn, telling: int) -> list[ReadSentence]:
        """The sentences of a turn that have ``telling`` content words and that no line repeats. Cached."""
        key = turn.pk, telling
        if key not in self._new:
            own = (sentence for sentence in turn.sentences if sentence.telling >= telling)
            self._new[key] = [sentence for sentence in own if not self.says(sentence.line.text, sentence.words)]
        return self._new[key]

    def says(self, text: str, words: frozenset[str]) -> bool:
        """Whether one line has every word of the sentence, however dates are written."""
        undated = _RELATIVE_DATE.sub("", text)
        words = words if undated == text else frozenset(content_words(undated))
        fewest = min((self._having.get(word, []) for word in words), key=len, default=[])
        return any(words <= line for line in fewest)


def _candidate_sentences(
    turn: ReadTurn,
    turn_value: float,
    matcher: QuestionMatcher,
    repeats: RepeatFilter,
    told: Mapping[int, NoteValue],
) -> Iterator[CandidateSentence]:
    """The turn's sentences, with values, that have enough content words and that no given line repeats.

    Of the notes that cite it, those of which it is the best turn; the others still count as said of this turn.
    """
    found = []
    for sentence in repeats.new_sentences(turn, matcher.profile.telling):
        (speaker, _, _, place, ends, _), words, _, size, worth, length = sentence
        note = told.get(place)
        (has, share), named = matcher.match(words), matcher.names(speaker)
        relevance = (1 + matcher.profile.asked * share) * (1 + (NAMED_SPEAKER_BONUS if named else 0.0))
        value = (note.value if note else turn_value) * relevance * worth / length
        value *= REPLACED_PART_FACTOR ** len(ends) if ends else 1.0
        found.append((-float(value), place, size, sentence, has, named))
    found.sort()
    values = discount_same_turn([(-one[0], one[2]) for one in found], matcher.profile.enough)
    for value, (_, place, _, sentence, has, named) in zip(values, found, strict=True):
        if place not in told or told[place].turn == turn.pk:
            yield -value, -turn.pk, place, sentence, has, named


def discount_same_turn(sentences: Iterable[tuple[float, int]], enough: int) -> Iterator[float]:
    """The values of one turn's sentences, each discounted by the tokens of the better ones.

    ``sentences`` are pairs of value and tokens, best first. Pure.
    """
    tokens_before = 0
    for value, size in sentences:
        yield value / (1 + (tokens_before / enough) ** 2) if tokens_before else value
        tokens_before += size


def choose_sentences(sentences: list[CandidateSentence], max_tokens: int) -> list[ChosenSentence]:
    """The best that fit ``max_tokens`` tokens with their dates and speakers, best first, plus SPARE_SHARE. Pure."""
    chosen, opened, tokens_left = [], set(), max_tokens * (1 + SPARE_SHARE)
    for _, negative_turn, place, (line, _, _, size, _, _), has, named in sorted(sentences):
        turn = -negative_turn
        cost = size + 1 + (0 if turn in opened else PARAGRAPH_TOKENS)
        if cost <= tokens_left:
            chosen.append(
                ChosenSentence(turn, place, line.speaker, line.text, has, named, line.ends, approved=line.approved)
            )
            opened.add(turn)
            tokens_left -= cost
    return chosen


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
            place, speaker, text, approved = line.place, line.speaker, line.text, line.approved
            yield sentence._replace(turn=turn, place=place, speaker=speaker, text=text, ends=(), approved=approved)
        yield sentence._replace(behind=tuple((turn, line.place) for turn, line in replacing))


def _to_passage(sentence: ChosenSentence, turn: ReadTurn, rank: int) -> Passage:
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
