"""A turn's sentences as they may be told now: without what was hidden, held back or replaced since; as corrected.

The index keeps what was said. What people decided about it, and what overtook it, is known of the facts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..models import Fact, Granularity
from .words import content

#: A sentence says a fact if they share so much of the shorter one's content words.
SAME = 0.6

#: Speaker, sentence, worth; as a document stores them.
Line = Sequence[Any]


def told(turns: Mapping[int, tuple[int, Sequence[Line]]]) -> dict[int, list[Line]]:
    """The lines to tell of each turn, given its chat and its lines. One query."""
    facts = _touched({chat for chat, _ in turns.values()})
    return {pk: _corrected(lines, facts.get(pk, ())) for pk, (_, lines) in turns.items()}


def _touched(chats: set[int]) -> dict[int, list[tuple[frozenset[str], str]]]:
    """By turn: the words of each fact that people or later facts have touched, and what is to be said instead."""
    leaf_facts = Fact.objects.filter(entry__chat__in=chats, entry__granularity=Granularity.CONVERSATION)
    found: dict[int, list[tuple[frozenset[str], str]]] = defaultdict(list)
    for text, citations, is_told in leaf_facts.touched():
        for turn in citations:
            found[turn].append((frozenset(content(text)), text if is_told else ""))
    return found


def _corrected(lines: Sequence[Line], facts: Iterable[tuple[frozenset[str], str]]) -> list[Line]:
    """The lines without those that say a touched fact; the first of them is replaced by its correction."""
    kept: list[Line] = list(lines)
    for words, instead in facts:
        after: list[Line] = []
        for speaker, text, worth in kept:
            if not says(frozenset(content(text)), words):
                after.append((speaker, text, worth))
            elif instead:
                after.append((speaker, instead, worth))
                instead = ""
        kept = after
    return kept


def says(sentence: frozenset[str], fact: frozenset[str]) -> bool:
    """Whether the sentence with these content words says the fact with those."""
    least = min(len(sentence), len(fact))
    return least > 0 and len(sentence & fact) >= SAME * least
