"""Tell apart things of one kind by their names, codes and numbers: "Tom's team", "db2", "Valve B", "Room 12". Pure.

Two sentences are about two things if each names something that the other lacks. A pair that differs only in what one of
them leaves out may be about the same thing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memorybank.language import collect, whole_words
from memorybank.language.terms import terms, words

GENERIC_TERMS = frozenset(terms(" ".join(collect(lambda pack: pack.changes.generic))))
#: A word in letters that have capitals, with its numbers: also within text without spaces.
_NAME = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]+(?:[-_./]?\d[\w-]*)?")
#: A word that speakers use for themselves.
FIRST_PERSON = re.compile(whole_words(lambda pack: pack.states.own), re.IGNORECASE)
#: A word and the number after it: "Room 12", "invoice #17".
_NUMBERED = re.compile(r"\b([^\W\d_]+) (?:#|№ ?|n[or]\. ?)?(\d+)\b(?![.,:]\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Marks:
    """What a clause names: names and codes, and the numbers after each word; and all words of the text around it."""

    names: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    words: frozenset[str]


def marks(clause: str, text: str) -> Marks:
    """The marks of a clause of a text, with words as stems. Months and other generic words tell nothing apart."""
    numbers = {(kind, number) for word, number in _NUMBERED.findall(clause) for kind in _terms(word)}
    return Marks(frozenset(_names(clause)), frozenset(numbers), frozenset((*terms(text), *words(text))))


def is_another(own: Marks, other: Marks) -> bool:
    """Whether the two clauses are about different things."""
    if own.names - other.words and other.names - own.words:
        return True
    numbered_in_both = {kind for kind, _ in own.numbers} & {kind for kind, _ in other.numbers}
    return not numbered_in_both <= {kind for kind, _ in own.numbers & other.numbers}


def _names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        word = match[0]
        if len(word) == 1 and word.isupper() and word != "I" and match.start() > 0:
            yield word.casefold()
        elif any(c.isupper() or c.isdigit() for c in word):
            yield from _terms(word)


def _terms(word: str) -> frozenset[str]:
    return frozenset(terms(word)) - GENERIC_TERMS
