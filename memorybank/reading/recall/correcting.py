"""The visible lines of a turn: without what was hidden, held back or replaced since; as corrected and released.

The index keeps what was said. What people decided about it, and what overtook it, is known of the facts. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memorybank.core.turns import STEERS
from memorybank.language.terms import terms
from memorybank.models import Standing

#: A sentence says a fact if they share so much of the shorter one's content words.
SAME = 0.6

#: Speaker, sentence, worth; as a document stores them. Of a visible one also its place there.
Line = Sequence[Any]


def visible_lines(lines: Mapping[int, Sequence[Line]], facts: Iterable[Standing]) -> dict[int, list[Line]]:
    """Those of each turn, given all its lines and what became of the facts that cite it. Pure.

    Each with its place among all of them, which stays the same whatever becomes of the others.
    """
    changes: dict[int, list[tuple[frozenset[str], tuple[str, str] | None]]] = defaultdict(list)
    steering: set[int] = set()
    released: dict[int, list[Line]] = defaultdict(list)
    for fact in facts:
        if fact.quarantine == STEERS:
            steering.update(fact.citations)
        if fact.correction or not fact.is_visible:
            for turn in fact.citations:
                changes[turn].append((frozenset(terms(fact.said_first)), fact.correction))
        if fact.is_released and fact.is_visible:
            released[fact.citations[0]].append((fact.speaker, fact.text, fact.weight))
    shown = {turn: [] if turn in steering else [*own, *released.get(turn, ())] for turn, own in lines.items()}
    return {turn: _corrected(_placed(own), changes.get(turn, ())) for turn, own in shown.items()}


def _placed(lines: Sequence[Line]) -> list[Line]:
    return [(*line, place) for place, line in enumerate(lines)]


def _corrected(lines: Sequence[Line], facts: Iterable[tuple[frozenset[str], tuple[str, str] | None]]) -> list[Line]:
    """The lines without those that say a changed fact; the first of them is replaced by its correction."""
    kept: list[Line] = list(lines)
    for words, instead in facts:
        after: list[Line] = []
        for line in kept:
            if not says(frozenset(terms(line[1])), words):
                after.append(line)
            elif instead:
                after.append((*instead, *line[2:]))
                instead = None
        kept = after
    return kept


def says(sentence: frozenset[str], fact: frozenset[str]) -> bool:
    """Whether the sentence with these content words says the fact with those."""
    least = min(len(sentence), len(fact))
    return least > 0 and len(sentence & fact) >= SAME * least
