"""Choose sentences for notes: the best for a question that fit, by their turns' values and their own. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import NamedTuple

from memorybank.core.fact_state import ReplacingFact
from memorybank.language.repetition import may_repeat, relates_otherwise
from memorybank.reading.recall.index_cache import ReadSentence, ReadTurn
from memorybank.reading.recall.index_terms import content_words, words_naming

#: The value of a sentence depends on its turn's score and its passage's, on its share of the question's words, on
#: whether the question names its speaker, on its prior, and on its length. Chosen on dialogues and on meetings.
NAMED_SPEAKER_BONUS = 3.0
#: The value of a sentence is multiplied by this for each part that was replaced.
REPLACED_PART_FACTOR = 0.5
#: Tokens that starting a turn's paragraph costs: its date and its speakers.
PARAGRAPH_TOKENS = 6
#: More than the error of a product of a few numbers.
ROUNDING = 1 + 1e-9
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
    reported: int = 0
    approved: bool = False


class RankedSentence(NamedTuple):
    """A sentence that may be chosen, with the words that it shares with the question; sorts before lesser ones."""

    #: The negated value, the negated id of the turn, and the place.
    sort_key: tuple[float, int, int]
    turn: int
    sentence: ReadSentence
    shared_words: tuple[str, ...]
    names_speaker: bool

    @property
    def value(self) -> float:
        return -self.sort_key[0]


class NoteValue(NamedTuple):
    """The value of a note: the sum of those of the turns that it cites, and the best of these turns, by id."""

    value: float
    turn: int


#: The match of a sentence without a word of the question.
NOTHING_ASKED: tuple[tuple[str, ...], float] = (), 0.0


class QuestionMatcher:
    """Scores sentences against a question: its profile, its words with their idf, and the names of its speakers."""

    def __init__(
        self, profile: ScoringProfile, question: str, idfs: Mapping[str, float], names: frozenset[str]
    ) -> None:
        self.profile, self.idfs, self._names = profile, idfs, names
        self.asked = frozenset(idfs)
        self._whole = sum(idfs.values()) or 1.0
        self._named: dict[str, bool] = {}
        taken = {word for name in names for word in name.split()}
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

    def relevance(self, share: float, named: bool) -> float:
        """The factor for a sentence with this share of the question, whose speaker the question names or not."""
        return (1 + self.profile.asked * share) * (1 + (NAMED_SPEAKER_BONUS if named else 0.0))

    def names_any(self, new: "NewSentences") -> bool:
        """Whether the question names the speaker of one of these sentences."""
        return any(map(self.names, new.speakers))

    def match(self, words: frozenset[str]) -> tuple[tuple[str, ...], float]:
        """The words of the question that are in ``words``, and their share of the question's idf, 0…1."""
        if self.asked.isdisjoint(words):
            return NOTHING_ASKED
        has = tuple([word for word in self.idfs if word in words])
        return has, sum([self.idfs[word] for word in has]) / self._whole


@dataclass(frozen=True, slots=True)
class NewSentences:
    """The sentences of a turn that a question may get, with what limits their values: see :func:`_max_value`.

    ``best`` is the highest worth of a sentence by its length, ``shortest`` are the fewest tokens of one.
    """

    sentences: tuple[ReadSentence, ...]
    words: frozenset[str]
    speakers: frozenset[str]
    best: float
    shortest: int

    @classmethod
    def of(cls, sentences: Iterable[ReadSentence]) -> "NewSentences":
        """These sentences."""
        own = tuple(sentences)
        return cls(
            own,
            frozenset[str]().union(*(one.words for one in own)),
            frozenset(one.line.speaker for one in own),
            max((one.worth / one.length for one in own), default=0.0),
            min((one.tokens for one in own), default=0),
        )


class RepeatFilter:
    """Recognise sentences that the given lines say already."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._having: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._new: dict[tuple[int, int], NewSentences] = {}
        for line in lines:
            words = frozenset(content_words(line))
            for word in words:
                self._having.setdefault(word, []).append((line, words))

    def size(self) -> int:
        """Approximate memory in bytes, with the results that it will cache."""
        return 1_000 * len(self._having)

    def new_sentences(self, turn: ReadTurn, telling: int) -> NewSentences:
        """The sentences of a turn that have ``telling`` content words and that no line repeats. Cached."""
        key = turn.pk, telling
        if key not in self._new:
            own = (sentence for sentence in turn.sentences if sentence.telling >= telling)
            self._new[key] = NewSentences.of(one for one in own if not self.says(one.line.text, one.words))
        return self._new[key]

    def says(self, text: str, words: frozenset[str]) -> bool:
        """Whether one line has every word of the sentence and may say the same, however dates are written."""
        undated = _RELATIVE_DATE.sub("", text)
        words = words if undated == text else frozenset(content_words(undated))
        fewest = min((self._having.get(word, []) for word in words), key=len, default=[])
        return any(
            words <= own and may_repeat(undated, line) and not relates_otherwise(undated, line) for line, own in fewest
        )


class CandidateTurn(NamedTuple):
    """A turn with its value and its sentences that may be chosen."""

    pk: int
    value: float
    new: NewSentences


class Room:
    """The tokens that are left for sentences with their dates and speakers, of ``max_tokens`` plus SPARE_SHARE."""

    def __init__(self, max_tokens: int) -> None:
        self._tokens_left, self._opened = max_tokens * (1 + SPARE_SHARE), set[int]()

    def fits(self, turn: int, size: int) -> bool:
        """Whether a sentence of this turn with so many tokens fits."""
        return self._cost(turn, size) <= self._tokens_left

    def take(self, turn: int, size: int) -> None:
        """Use the tokens of a sentence."""
        self._tokens_left -= self._cost(turn, size)
        self._opened.add(turn)

    def _cost(self, turn: int, size: int) -> int:
        return size + 1 + (0 if turn in self._opened else PARAGRAPH_TOKENS)


def best_first(
    turns: Iterable[CandidateTurn], matcher: QuestionMatcher, note_values: Mapping[int, NoteValue], room: Room
) -> Iterator[RankedSentence]:
    """The sentences of these turns that may still fit, best first.

    A turn's sentences get their values when one of them may be the next, so most never do: a question finds hundreds
    of sentences, and notes have room for a few.
    """
    ready: list[RankedSentence] = []
    best_note = max((note.value for note in note_values.values()), default=0.0)
    bounds = [_max_value(turn, matcher, best_note) for turn in turns]
    for bound, turn in sorted(zip(bounds, turns, strict=True), key=lambda pair: -pair[0]):
        while ready and ready[0].value > bound:
            yield heappop(ready)
        if turn.new.sentences and room.fits(turn.pk, turn.new.shortest):
            for sentence in _ranked_sentences(turn, matcher, note_values):
                heappush(ready, sentence)
    ready.sort()
    yield from ready


def _max_value(turn: CandidateTurn, matcher: QuestionMatcher, best_note: float) -> float:
    """No sentence of the turn has a higher value; ``best_note`` is that of a note."""
    value = max(turn.value, best_note) * matcher.relevance(
        matcher.match(turn.new.words)[1], matcher.names_any(turn.new)
    )
    return value * turn.new.best * ROUNDING


def _ranked_sentences(
    turn: CandidateTurn, matcher: QuestionMatcher, note_values: Mapping[int, NoteValue]
) -> Iterator[RankedSentence]:
    """The turn's sentences with their values, best first.

    Of the notes that cite it, those of which it is the best turn; the others still count as said of this turn.
    """
    found: list[tuple[float, int, ReadSentence, tuple[str, ...], bool]] = []
    asks = not matcher.asked.isdisjoint(turn.new.words)
    named_speakers = {speaker for speaker in turn.new.speakers if matcher.names(speaker)}
    for sentence in turn.new.sentences:
        line = sentence.line
        shared_words, share = matcher.match(sentence.words) if asks else NOTHING_ASKED
        named = line.speaker in named_speakers
        source = note_values.get(line.place, turn)
        value = source.value * matcher.relevance(share, named) * sentence.worth / sentence.length
        value *= REPLACED_PART_FACTOR ** len(line.ends) if line.ends else 1.0
        found.append((-value, line.place, sentence, shared_words, named))
    found.sort()  # a turn has one sentence at each place
    values = discount_same_turn(
        [(-negated, sentence.tokens) for negated, _, sentence, *_ in found], matcher.profile.enough
    )
    for value, (_, place, sentence, shared_words, named) in zip(values, found, strict=True):
        if place not in note_values or note_values[place].turn == turn.pk:
            yield RankedSentence((-value, -turn.pk, place), turn.pk, sentence, shared_words, named)


def discount_same_turn(sentences: Iterable[tuple[float, int]], enough: int) -> Iterator[float]:
    """The values of one turn's sentences, each discounted by the tokens of the better ones.

    ``sentences`` are pairs of value and tokens, best first. Pure.
    """
    tokens_before = 0
    for value, size in sentences:
        yield value / (1 + (tokens_before / enough) ** 2) if tokens_before else value
        tokens_before += size


def choose_sentences(sentences: Iterable[RankedSentence], room: Room) -> list[ChosenSentence]:
    """The first of these sentences, best first, that fit."""
    chosen = []
    for ranked in sentences:
        line, size = ranked.sentence.line, ranked.sentence.tokens
        if room.fits(ranked.turn, size):
            chosen.append(
                ChosenSentence(
                    turn=ranked.turn,
                    place=line.place,
                    speaker=line.speaker,
                    text=line.text,
                    asked=ranked.shared_words,
                    named=ranked.names_speaker,
                    ends=line.ends,
                    reported=line.reported,
                    approved=line.approved,
                )
            )
            room.take(ranked.turn, size)
    return chosen
