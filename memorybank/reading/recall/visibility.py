"""The visible lines of a turn: without what was hidden, held back or replaced since; as corrected and released.

The index keeps what was said. What people decided about it, and what overtook it, is known of the facts. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memorybank.core.turns import STEERS_ASSISTANT
from memorybank.language.dates import format_date
from memorybank.language.sentences import with_full_stop
from memorybank.language.terms import terms
from memorybank.models import Standing
from memorybank.models.fact import End

#: A sentence says a fact if they share so much of the shorter one's content words.
SAME = 0.6
#: A sentence says a part of a replaced fact if it has so much of the fact's words; what stands beside it still holds.
PART = 0.4
#: What was replaced in part is told, with what replaced it, if it has so many content words beside that.
BESIDES = 4

#: Speaker, sentence, worth; as a document stores them.
Line = Sequence[Any]


class VisibleSentence(NamedTuple):
    """A line that may be shown, with its place in its turn, and what replaced parts of it."""

    speaker: str
    text: str
    worth: float
    place: int
    ends: tuple[End, ...] = ()


class Fate(NamedTuple):
    """What became of a fact with these content words: a person's words instead of it, or what replaced it."""

    words: frozenset[str]
    correction: tuple[str, str] | None
    end: End | None


def visible_lines(lines: Mapping[int, Sequence[Line]], facts: Iterable[Standing]) -> dict[int, list[VisibleSentence]]:
    """Those of each turn, given all its lines and what became of the facts that cite it. Pure.

    Each with its place among all of them, which stays the same whatever becomes of the others.
    """
    changes: dict[int, list[Fate]] = defaultdict(list)
    steering: set[int] = set()
    released: dict[int, list[Line]] = defaultdict(list)
    for fact in facts:
        if fact.quarantine == STEERS_ASSISTANT:
            steering.update(fact.citations)
        if fact.correction or not fact.is_visible:
            for turn in fact.citations:
                changes[turn].append(Fate(frozenset(terms(fact.said_first)), fact.correction, fact.end))
        if fact.is_released and fact.is_visible:
            released[fact.citations[0]].append((fact.speaker, fact.text, fact.weight))
    shown = {turn: [] if turn in steering else [*own, *released.get(turn, ())] for turn, own in lines.items()}
    return {turn: _corrected(_placed(own), changes.get(turn, ())) for turn, own in shown.items()}


def _placed(lines: Sequence[Line]) -> list[VisibleSentence]:
    return [VisibleSentence(speaker, text, worth, place) for place, (speaker, text, worth) in enumerate(lines)]


def _corrected(lines: list[VisibleSentence], fates: Iterable[Fate]) -> list[VisibleSentence]:
    """The lines without those that say a changed fact; the first of them is replaced by its correction.

    One that was replaced in part stays, marked, if it tells enough besides.
    """
    for words, instead, end in fates:
        after: list[VisibleSentence] = []
        for line in lines:
            said = frozenset(terms(line.text))
            if not says(said, words) or (end and len(said & words) < PART * len(words)):
                after.append(line)
            elif instead:
                after.append(line._replace(speaker=instead[0], text=instead[1]))
                instead = None
            elif end and len(said.difference(*(terms(each.text) for each in (*line.ends, end)))) >= BESIDES:
                after.append(line._replace(ends=tuple(dict.fromkeys((*line.ends, end)))))
        lines = after
    return [_marked(line) if line.ends else line for line in lines]


def _marked(line: VisibleSentence) -> VisibleSentence:
    """The line as one of which parts were replaced, on these days."""
    days = dict.fromkeys(format_date(day) for day in sorted(end.day for end in line.ends))
    return line._replace(text=" ".join([with_full_stop(line.text), *(f"(In part replaced on {day}.)" for day in days)]))


def says(sentence: frozenset[str], fact: frozenset[str]) -> bool:
    """Whether the sentence with these content words says the fact with those."""
    least = min(len(sentence), len(fact))
    return least > 0 and len(sentence & fact) >= SAME * least


def newer(end: End, lines: Mapping[int, Sequence[VisibleSentence]]) -> tuple[int, VisibleSentence] | None:
    """The turn and the line that say what replaced something, if they may be shown and nothing replaced them."""
    words = frozenset(terms(end.text))
    found = [
        (len(said & words), -turn, -line.place, turn, line)
        for turn in end.citations
        for line in lines.get(turn, ())
        if not line.ends and says(said := frozenset(terms(line.text)), words)
    ]
    return max(found)[-2:] if found else None


def shown(lines: Sequence[Sequence[object]]) -> str:
    """A document's lines as a person reads them: one paragraph a speaker."""
    paragraphs: list[str] = []
    last: object = None
    for speaker, text, *_ in lines:
        if paragraphs and speaker == last:
            paragraphs[-1] = f"{with_full_stop(paragraphs[-1])} {text}"
        else:
            paragraphs.append(f"{speaker}: {text}")
        last = speaker
    return "\n".join(paragraphs)
