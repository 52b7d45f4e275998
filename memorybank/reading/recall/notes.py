"""What of a bank answers a question: for notes, the best sentences of the best turns in the best passages."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memorybank import conf
from memorybank.core.packing.notes import Passage
from memorybank.language import dates, tokens
from memorybank.models import Bank, Chat, Entry, Fact, SearchDocument
from memorybank.models.fact import End
from memorybank.reading.recall.index_terms import FILLING, naming, searched
from memorybank.reading.recall.searching import Found, Question, around, parsed, search
from memorybank.reading.recall.visibility import VisibleSentence, newer, visible_lines

#: A sentence counts by its turn's score and its passage's, by how much of the question is in it, by whether somebody
#: the question names says it, by its prior worth, and less the longer it is. Chosen on dialogues and on meetings.
POWER, NAMED, WORTH, THRIFT = 2.0, 3.0, 0.35, 0.8
#: From this share of the best passage on, turns are read that have no word of the question.
NEAR = 0.3
#: What a sentence counts that was replaced in part.
REPLACED = 0.5
#: Tokens that opening a turn's paragraph costs: its date and its speakers.
OPENING = 6
#: Turns read at most, and sentences offered beside those that should fit, as a share of the room.
MOST_TURNS, SPARE = 120, 0.3
_WORD = re.compile(r"\w+")
# "yesterday (7 May 2023)": facts have the date alone.
_RELATIVE = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]++ ){1,2}(?=\([^()]{0,40}\d{4}[^()]{0,40}\))")


@dataclass(frozen=True, slots=True)
class Aim:
    """What a question wants. ``passage``: what being in the best passage counts, of what being the best turn does.

    ``focus``: how soon being in a passage counts less where it is not the best. ``asked``: what having all words of
    the question adds, of what having none counts. ``enough``: a sentence counts half where its turn's better ones
    have so many tokens. ``telling``: it needs so many words that tell something, or a person could not use it.
    """

    passage: float
    focus: float
    asked: float
    enough: int
    telling: int


#: One fact, from whatever turn; and what was said about something: something of every turn of its passages.
POINTED, BROAD = Aim(0.06, 3.0, 4.0, 120, 1), Aim(2.0, 1.5, 1.0, 8, 2)
#: What somebody said about it, by name: that lies closer together than what all have said.
BROAD_OF_ONE = replace(BROAD, focus=3.0)


@dataclass(frozen=True, slots=True)
class FoundSentence:
    """One sentence of a turn that was found, with its value for the question."""

    turn: int
    place: int
    speaker: str
    text: str
    tokens: int
    value: float
    asked: tuple[str, ...] = ()
    named: bool = False
    ends: tuple[End, ...] = ()
    behind: tuple[tuple[int, int], ...] = ()


def answering(
    bank: Bank,
    question: str,
    *,
    room: int,
    said: Sequence[str] = (),
    exclude_chat: str = "",
    now: datetime | None = None,
) -> list[Passage]:
    """What answers ``question`` in ``room`` tokens, best first, and a little more, without what the lines ``said`` say.

    Reads the index and the turns it names; writes nothing.
    """
    without = Chat.objects.filter(bank=bank, key=exclude_chat).first() if exclude_chat else None
    asked = parsed(bank, question, now)
    found = search(bank, asked, without=without, most=MOST_TURNS)
    if not found.ranked:
        return []
    aim = wanted(asked, found)
    valued = _valued(found, around(bank, found), aim)
    read = list(_read(bank, valued))
    rows, lines = {pk: row for pk, row, _ in read}, {pk: own for pk, _, own in read}
    asks, known = Asks(aim, found, question), Known(said)
    sentences: list[FoundSentence] = []
    for pk, value in valued.items():
        if pk in rows:
            sentences += spread(_sentences(pk, lines[pk], value, asks, known), aim.enough)
    ranks = {turn: rank for rank, turn in enumerate(sorted(valued, key=lambda turn: -valued[turn]), start=1)}
    chosen = choose(sentences, room)
    others = {output for each in chosen for end in each.ends for output in end.citations} - rows.keys()
    for pk, row, own in _read(bank, others):
        if row.chat_id != (without and without.pk):
            rows[pk], lines[pk] = row, own
    return [_passage(each, rows[each.turn], ranks.get(each.turn, 0)) for each in behind_newer(chosen, lines)]


def visible(bank: Bank, turns: Iterable[int]) -> dict[int, list[VisibleSentence]]:
    """The lines of these turns that may be shown now, each with its place; none of a turn that is not recalled."""
    return {pk: lines for pk, _, lines in _read(bank, turns)}


def _read(bank: Bank, turns: Iterable[int]) -> Iterator[tuple[int, SearchDocument, list[VisibleSentence]]]:
    """These turns with their documents and lines."""
    documents = SearchDocument.objects.of(bank).filter(chat__private=False).select_related("chat").defer("words")
    rows = documents.in_bulk(list(turns))
    facts = Fact.objects.filter(
        entry__in=Entry.objects.leaves().filter(chat__in={row.chat_id for row in rows.values()})
    )
    lines = visible_lines({pk: row.lines for pk, row in rows.items()}, facts.standing(changed=True))
    yield from ((pk, row, lines[pk]) for pk, row in rows.items())


def wanted(asked: Question, found: Found) -> Aim:
    """What the question wants, given whom it names."""
    if not asked.broad:
        return POINTED
    return BROAD_OF_ONE if found.names else BROAD


def _valued(found: Found, passages: Mapping[int, float], aim: Aim) -> dict[int, float]:
    """The turns that were found and those in the best passages, each with what it and its passage count."""
    scores = {turn: score / found.ranked[0][1] for turn, score in found.ranked}
    near = sorted((turn for turn, value in passages.items() if value >= NEAR), key=lambda turn: -passages[turn])
    # A turn in a good passage counts a little even if it has no word of the question: it may hold the answer.
    return {
        turn: scores.get(turn, 0.0) ** POWER + aim.passage * passages.get(turn, 0.0) ** aim.focus
        for turn in dict.fromkeys([*scores, *near[:MOST_TURNS]])
    }


class Asks:
    """A question while sentences are valued: what it wants, and its words with their idf."""

    def __init__(self, aim: Aim, found: Found, question: str) -> None:
        self.aim, self.idfs, self._called = aim, found.idfs, found.names
        self._whole = sum(found.idfs.values()) or 1.0
        self._named: dict[str, bool] = {}
        taken = {word for name in found.names for word in name.split()}
        capitals = (word for word in _WORD.findall(question) if word != word.lower())
        self._capitals = {word for word in capitals if word.casefold() not in taken}

    def names(self, speaker: str) -> bool:
        """Whether it names the speaker: by the whole name, or by a part with a capital that is no other's."""
        if speaker not in self._named:
            whole = naming(speaker)
            spelt = {form for word in _WORD.findall(speaker) for form in (word, word.capitalize())}
            called = bool(whole) and self._called.issuperset(whole)
            self._named[speaker] = called or not self._capitals.isdisjoint(spelt)
        return self._named[speaker]

    def share(self, has: Iterable[str]) -> float:
        """How much of it these words are, 0…1."""
        return sum(self.idfs[word] for word in has) / self._whole


class Known:
    """Lines that need not be said again, by their words."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._having: dict[str, list[frozenset[str]]] = {}
        for line in lines:
            words = frozenset(searched(line))
            for word in words:
                self._having.setdefault(word, []).append(words)

    def says(self, text: str, words: frozenset[str]) -> bool:
        """Whether one line has every word of the sentence, but for how it puts its dates."""
        undated = _RELATIVE.sub("", text)
        words = words if undated == text else frozenset(searched(undated))
        fewest = min((self._having.get(word, []) for word in words), key=len, default=[])
        return any(words <= line for line in fewest)


def _sentences(
    turn: int, lines: Sequence[VisibleSentence], rank: float, asks: Asks, known: Known
) -> Iterator[FoundSentence]:
    """The turn's sentences that tell enough and are not known, valued. ``rank`` is the turn's value."""
    encoding = conf.current().encoding
    for speaker, text, worth, place, ends in lines:
        words = frozenset(searched(text))
        if len(words - FILLING) < asks.aim.telling or known.says(text, words):
            continue
        size = tokens.count(text, encoding)  # last, because it costs most
        has, named = tuple(word for word in asks.idfs if word in words), asks.names(speaker)
        heard = (1 + asks.aim.asked * asks.share(has)) * (1 + (NAMED if named else 0.0))
        value = rank * heard * (worth + 0.02) ** WORTH / (size + 1) ** THRIFT
        value *= REPLACED ** len(ends)
        yield FoundSentence(turn, place, speaker, text, size, float(value), has, named, ends)


def spread(sentences: Iterable[FoundSentence], enough: int) -> Iterator[FoundSentence]:
    """A turn's sentences, each worth the less the more its better ones say. Pure."""
    given = 0
    for sentence in sorted(sentences, key=lambda each: (-each.value, each.place)):
        yield replace(sentence, value=sentence.value / (1 + (given / enough) ** 2))
        given += sentence.tokens


def choose(sentences: Iterable[FoundSentence], room: int) -> list[FoundSentence]:
    """The best that fit into ``room`` tokens with their dates and speakers, best first, and SPARE more. Pure."""
    chosen, opened, left = [], set(), room * (1 + SPARE)
    for sentence in sorted(sentences, key=lambda each: (-each.value, -each.turn, each.place)):
        cost = sentence.tokens + 1 + (0 if sentence.turn in opened else OPENING)
        if cost <= left:
            chosen.append(sentence)
            opened.add(sentence.turn)
            left -= cost
    return chosen


def behind_newer(
    sentences: Iterable[FoundSentence], lines: Mapping[int, Sequence[VisibleSentence]]
) -> Iterator[FoundSentence]:
    """The sentences; one that was replaced in part stands behind what replaced it, or is left out. Pure."""
    for sentence in sentences:
        found = [each for end in sentence.ends if (each := newer(end, lines))]
        if len(found) < len(sentence.ends):
            continue
        for turn, line in found:
            yield replace(sentence, turn=turn, place=line.place, speaker=line.speaker, text=line.text, ends=())
        yield replace(sentence, behind=tuple((turn, line.place) for turn, line in found))


def _passage(sentence: FoundSentence, row: SearchDocument, rank: int) -> Passage:
    return Passage(
        output=row.pk,
        place=sentence.place,
        text=sentence.text,
        at=row.said_at,
        chat=row.chat_id,
        chat_key=row.chat.key,
        label=dates.format_date(row.said_at.date()),
        speaker=sentence.speaker,
        asked=sentence.asked,
        named=sentence.named,
        rank=rank,
        behind=sentence.behind,
    )
