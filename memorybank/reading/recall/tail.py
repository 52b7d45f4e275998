"""What of a bank answers a question: for notes, the best sentences of the best turns in the best passages."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memorybank import conf
from memorybank.core.extraction.kinds import is_question
from memorybank.core.packing.values import Passage
from memorybank.language import dates, tokens
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, Entry, Fact, SearchDocument
from memorybank.reading.recall.correcting import Line, visible_lines
from memorybank.reading.recall.searching import Found, around, parsed, search
from memorybank.reading.recall.words import FILLING

#: A sentence counts by its turn's score and its passage's, by how much of the question is in it, by whether somebody
#: the question names says it, by its prior worth, and less the longer it is. Chosen on dialogues and on meetings.
POWER, ASKED, NAMED, WORTH, THRIFT = 2.0, 4.0, 3.0, 0.35, 0.8
#: How soon being in a passage counts less where it is not the best. From this share on, turns are read that have no
#: word of the question.
FOCUS, NEAR = 3.0, 0.3
#: Tokens that opening a turn's paragraph costs: its date and its speakers.
OPENING = 6
#: Turns read at most, and sentences offered beside those that should fit, as a share of the room.
MOST_TURNS, SPARE = 120, 0.3
# "yesterday (7 May 2023)": facts have the date alone.
_RELATIVE = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]++ ){1,2}(?=\([^()]{0,40}\d{4}[^()]{0,40}\))")


@dataclass(frozen=True, slots=True)
class Aim:
    """What a question wants. ``passage``: what being in the best passage counts, of what being the best turn does.

    ``enough``: a sentence counts half where its turn's better ones have so many tokens. ``telling``: it needs so many
    words that tell something, or a person could not use it.
    """

    passage: float
    enough: int
    telling: int


#: One fact, from whatever turn; and what was said about something: something of every turn of a passage.
POINTED, BROAD = Aim(0.06, 120, 1), Aim(0.6, 20, 2)


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
    aim = BROAD if asked.broad else POINTED
    valued = _valued(found, around(bank, found), aim)
    documents = SearchDocument.objects.of(bank).filter(chat__private=False).select_related("chat").defer("words")
    rows = documents.in_bulk(list(valued))
    facts = Fact.objects.filter(
        entry__in=Entry.objects.leaves().filter(chat__in={row.chat_id for row in rows.values()})
    )
    lines = visible_lines({pk: row.lines for pk, row in rows.items()}, facts.standing(changed=True))
    known = [frozenset(terms(line)) for line in said]
    sentences: list[FoundSentence] = []
    for pk, value in valued.items():
        if pk in rows:
            told = _sentences(pk, lines[pk], value, found.idfs, aim)
            sentences += spread((each for each in told if not said_already(each.text, known)), aim.enough)
    ranks = {turn: rank for rank, turn in enumerate(sorted(valued, key=lambda turn: -valued[turn]), start=1)}
    return [_passage(each, rows[each.turn], ranks[each.turn]) for each in choose(sentences, room)]


def _valued(found: Found, passages: Mapping[int, float], aim: Aim) -> dict[int, float]:
    """The turns that were found and those in the best passages, each with what it and its passage count."""
    scores = {turn: score / found.ranked[0][1] for turn, score in found.ranked}
    near = sorted((turn for turn, value in passages.items() if value >= NEAR), key=lambda turn: -passages[turn])
    # A turn in a good passage counts a little even if it has no word of the question: it may hold the answer.
    return {
        turn: scores.get(turn, 0.0) ** POWER + aim.passage * passages.get(turn, 0.0) ** FOCUS
        for turn in dict.fromkeys([*scores, *near[:MOST_TURNS]])
    }


def _sentences(
    turn: int, lines: Sequence[Line], rank: float, idfs: Mapping[str, float], aim: Aim
) -> Iterator[FoundSentence]:
    """The turn's sentences that tell enough, valued. ``rank`` is the turn's value."""
    encoding, whole = conf.current().encoding, sum(idfs.values()) or 1.0
    for place, (speaker, text, worth) in enumerate(lines):
        words = frozenset(terms(text))
        answers = aim is POINTED and place and is_question(lines[place - 1][1])
        if len(words - FILLING) < aim.telling and not answers:
            continue
        size = tokens.count(text, encoding)
        has = tuple(word for word in idfs if word in words)
        asked, named = sum(idfs[word] for word in has) / whole, not idfs.keys().isdisjoint(terms(speaker))
        heard = (1 + ASKED * asked) * (1 + (NAMED if named else 0.0))
        value = rank * heard * (worth + 0.02) ** WORTH / (size + 1) ** THRIFT
        yield FoundSentence(turn, place, speaker, text, size, float(value), has, named)


def spread(sentences: Iterable[FoundSentence], enough: int) -> Iterator[FoundSentence]:
    """A turn's sentences, each worth the less the more its better ones say. Pure."""
    given = 0
    for sentence in sorted(sentences, key=lambda each: (-each.value, each.place)):
        yield replace(sentence, value=sentence.value / (1 + (given / enough) ** 2))
        given += sentence.tokens


def said_already(text: str, lines: Iterable[frozenset[str]]) -> bool:
    """Whether one line has every word of the sentence, but for how it puts its dates. Pure."""
    words = frozenset(terms(_RELATIVE.sub("", text)))
    return bool(words) and any(words <= line for line in lines)


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


def _passage(sentence: FoundSentence, row: SearchDocument, rank: int) -> Passage:
    return Passage(
        output=row.pk,
        place=sentence.place,
        text=sentence.text,
        at=row.said_at,
        chat=row.chat_id,
        chat_key=row.chat.key,
        label=dates.spell(row.said_at.date()),
        speaker=sentence.speaker,
        asked=sentence.asked,
        named=sentence.named,
        rank=rank,
    )
