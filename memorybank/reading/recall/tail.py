"""What of a bank answers a question: passages for notes, the best sentences of the best turns."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memorybank import conf
from memorybank.core.packing import Passage
from memorybank.language import dates, tokens
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, Entry, Fact, SearchDocument
from memorybank.reading.recall.correcting import Line, visible_lines
from memorybank.reading.recall.searching import search, understood

#: A sentence counts by its turn's score, by how much of the question is in it, by whether somebody the
#: question names says it, by its prior worth, and a little less the longer it is. Chosen by measurement.
POWER, ASKED, NAMED, WORTH, THRIFT = 2.5, 4.0, 3.0, 0.5, 0.5
#: Tokens that opening a turn's paragraph costs: its date and its speakers.
OPENING = 6
#: Turns read at most, and sentences offered beside those that should fit, as a share of the room.
MOST_TURNS, SPARE = 120, 0.3
# "yesterday (7 May 2023)": facts have the date alone.
_RELATIVE = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]++ ){1,2}(?=\([^()]{0,40}\d{4}[^()]{0,40}\))")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a turn that was found, with its value for the question."""

    turn: int
    place: int
    speaker: str
    text: str
    tokens: int
    value: float


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
    found = search(bank, understood(bank, question, now), without=without, most=MOST_TURNS)
    documents = SearchDocument.objects.of(bank).filter(chat__private=False).select_related("chat").defer("words")
    rows = documents.in_bulk([pk for pk, _ in found.ranked])
    facts = Fact.objects.filter(
        entry__in=Entry.objects.leaves().filter(chat__in={row.chat_id for row in rows.values()})
    )
    lines = visible_lines({pk: row.lines for pk, row in rows.items()}, facts.standing(changed=True))
    known = [frozenset(terms(line)) for line in said]
    sentences: list[Sentence] = []
    budget = room * 4  # more than enough to choose from; the rest of a long list is not read
    for pk, score in found.ranked:
        if pk in rows and budget > 0:
            new = list(_sentences(pk, lines[pk], score / found.ranked[0][1], found.rarities, known))
            sentences += new
            budget -= sum(sentence.tokens for sentence in new)
    return [_passage(sentence, rows[sentence.turn]) for sentence in choose(sentences, room)]


def _sentences(
    turn: int, lines: Sequence[Line], score: float, rarities: Mapping[str, float], known: Sequence[frozenset[str]]
) -> Iterable[Sentence]:
    """The turn's sentences that are not known, valued. ``score`` is the turn's, 1 for the best."""
    encoding, whole = conf.current().encoding, sum(rarities.values()) or 1.0
    for place, (speaker, text, worth) in enumerate(lines):
        words = frozenset(terms(text))
        if said_already(text, known):
            continue
        size = tokens.count(text, encoding)
        asked = sum(value for word, value in rarities.items() if word in words) / whole
        named = NAMED if not rarities.keys().isdisjoint(terms(speaker)) else 0.0
        value = score**POWER * (1 + ASKED * asked) * (1 + named) * (worth + 0.02) ** WORTH / (size + 1) ** THRIFT
        yield Sentence(turn, place, speaker, text, size, float(value))


def said_already(text: str, lines: Iterable[frozenset[str]]) -> bool:
    """Whether one line has every word of the sentence, but for how it puts its dates. Pure."""
    words = frozenset(terms(_RELATIVE.sub("", text)))
    return bool(words) and any(words <= line for line in lines)


def choose(sentences: Iterable[Sentence], room: int) -> list[Sentence]:
    """The best that fit into ``room`` tokens with their dates and speakers, best first, and SPARE more. Pure."""
    chosen, opened, left = [], set(), room * (1 + SPARE)
    for sentence in sorted(sentences, key=lambda each: (-each.value, -each.turn, each.place)):
        cost = sentence.tokens + 1 + (0 if sentence.turn in opened else OPENING)
        if cost <= left:
            chosen.append(sentence)
            opened.add(sentence.turn)
            left -= cost
    return chosen


def _passage(sentence: Sentence, row: SearchDocument) -> Passage:
    return Passage(
        output=row.pk,
        place=sentence.place,
        text=sentence.text,
        at=row.said_at,
        chat=row.chat_id,
        chat_key=row.chat.key,
        label=dates.spell(row.said_at.date()),
        speaker=sentence.speaker,
    )
