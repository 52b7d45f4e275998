"""Align the words of a fact with its source, with the fewest breaks; a part of ``benchmarks.fidelity``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_WORD = re.compile(r"\x00|[\u3040-\u30ff\u3400-\u9fff]|\d+(?:[.,:]\d+)*|[^\W\d_\u3040-\u9fff]+(?:['’][^\W\d_]+)*")

#: Stands in a fact for a date, and for one word or several of the source.
DATE = "\x00"
UNPLACED_INDEX = -1


@dataclass(frozen=True, slots=True)
class Word:
    """A word and where it stands."""

    text: str
    start: int
    end: int


def spoken(text: str) -> list[Word]:
    """Every word; a character of Chinese or Japanese is one."""
    return [Word(m[0].casefold().replace("’", "'"), m.start(), m.end()) for m in _WORD.finditer(text)]


class Way(NamedTuple):
    """A way to lay the first words: how often it breaks, how many words it leaves out there, and each word's place."""

    breaks: int
    left: int
    places: tuple[int, ...]

    def then(self, place: int) -> "Way | None":
        """With one more word at this place; None where it cannot stand, or where a date before it had no word."""
        before = max(self.places, default=UNPLACED_INDEX)
        between, dated = place - before - 1, self.places[-1:] == (UNPLACED_INDEX,)
        if between < dated:
            return None
        left = between if before != UNPLACED_INDEX else 0
        return Way(self.breaks + (left > 0), self.left + left, (*self.places, place))


def laid(source: Sequence[str], fact: Sequence[str]) -> list[int]:
    """For each word of the fact its place in the source, in order, UNPLACED_INDEX for a date; [] when a word is missing.

    Fewest breaks win, then fewest words left out in between, then the earliest place.
    """
    ways = [Way(0, 0, ())]
    for word in fact:
        if word == DATE:
            ways = [way._replace(places=(*way.places, UNPLACED_INDEX)) for way in ways]
            continue
        here = (
            filter(None, (way.then(place) for way in ways))
            for place, spoken_word in enumerate(source)
            if spoken_word == word
        )
        ways = [best for ways_to_place in here if (best := min(ways_to_place, default=None))]
    return list(min(ways).places) if ways else []
