"""Skip regular expressions that cannot match a text, because it contains none of their required substrings ("pieces").

Hundreds of patterns in many languages are tried on every sentence, and nearly none matches. A pattern's pieces are read
from its parsed form: every text with a match contains at least one of them. A pattern without pieces is always tried.
So fewer patterns are tried, with the same results.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

# Not public, but the same in Python 3.11 to 3.14. Where it changes, test_prefilter fails: no pattern has pieces.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Generic, TypeVar

#: More alternative pieces than this are not used: a pattern with no others is always tried.
MAX_PATTERN_PIECES = 400
#: Characters of a gram, the part of a piece by which it is looked up. A shorter piece is looked up as a whole.
GRAM_CHARACTERS = 3
#: Letters that ``re.IGNORECASE`` equates with "i", but ``str.casefold`` does not.
_LETTERS_I = str.maketrans({0x130: "i", 0x131: "i"})
_REPEATS = frozenset([_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT])

T = TypeVar("T")
Pieces = frozenset[str]


def fold(text: str) -> str:
    """Fold case so that texts which ``re.IGNORECASE`` treats as equal become the same."""
    return text.casefold() if text.isascii() else text.translate(_LETTERS_I).casefold()


class Patterns(Generic[T]):
    """Patterns that are searched together, each with the value that it stands for."""

    def __init__(self, patterns: Iterable[tuple[re.Pattern[str], T]]) -> None:
        self._patterns = tuple(patterns)

    def possible(self, text: str) -> list[tuple[re.Pattern[str], T]]:
        """The patterns that may match ``text``, in their order."""
        index, always, lengths = self._index
        folded = fold(text)
        numbers = set(always)
        for gram in index.keys() & _grams(folded, lengths):
            for piece, of in index[gram]:
                if piece in folded:
                    numbers |= of
        return [self._patterns[number] for number in sorted(numbers)]

    def found(self, text: str) -> Iterator[T]:
        """The values of the patterns that match ``text``, in their order."""
        return (stands_for for pattern, stands_for in self.possible(text) if pattern.search(text))

    def finder(self, text: str) -> Callable[[re.Pattern[str]], Iterator[re.Match[str]]]:
        """A function that finds the matches of one of the patterns in ``text``."""
        possible = {id(pattern) for pattern, _ in self.possible(text)}
        return lambda pattern: pattern.finditer(text) if id(pattern) in possible else iter(())

    @cached_property
    def _index(self) -> tuple[dict[str, list[tuple[str, frozenset[int]]]], frozenset[int], tuple[int, ...]]:
        """The pieces by their rarest gram, the patterns without pieces, and the lengths of the grams.

        Each piece comes with the numbers of its patterns.
        """
        by_piece: dict[str, set[int]] = {}
        always = set()
        for number, (pattern, _) in enumerate(self._patterns):
            pieces = pieces_of(pattern)
            for piece in pieces:
                by_piece.setdefault(piece, set()).add(number)
            if not pieces:
                always.add(number)
        grams = {piece: _grams(piece, [min(len(piece), GRAM_CHARACTERS)]) for piece in by_piece}
        counts = Counter(gram for own in grams.values() for gram in own)
        index: dict[str, list[tuple[str, frozenset[int]]]] = {}
        for piece, numbers in by_piece.items():
            rarest = min(grams[piece], key=lambda gram: (counts[gram], gram))
            index.setdefault(rarest, []).append((piece, frozenset(numbers)))
        return index, frozenset(always), tuple(sorted({len(gram) for gram in index}))


def _grams(text: str, lengths: Iterable[int]) -> set[str]:
    """All substrings of these lengths."""
    return {gram for length in lengths for gram in map("".join, zip(*(text[n:] for n in range(length)), strict=False))}


def pieces_of(pattern: re.Pattern[str]) -> Pieces:
    """The folded pieces of a pattern: every text with a match contains one of them. Empty if it has none."""
    return _of_sequence(_parser.parse(pattern.pattern, pattern.flags)) or frozenset()


def _of_sequence(parsed: Iterable[tuple[Any, Any]]) -> Pieces | None:
    """The pieces of the part of a sequence that is probably rarest in texts."""
    return max(_options(parsed), key=_rarity, default=None)


def _rarity(pieces: Pieces) -> tuple[int, int]:
    """A sort key: longer pieces are rarer, in bytes and up to a length; and a smaller set of pieces occurs less."""
    return min(5, *(len(piece.encode()) for piece in pieces)), -len(pieces)


def _options(parsed: Iterable[tuple[Any, Any]]) -> Iterator[Pieces]:
    """The pieces of each part: of runs of characters, branches, groups and repetitions."""
    run = ""
    for operator, value in parsed:
        if operator is _constants.LITERAL:
            run += chr(value)
            continue
        if run:
            yield frozenset([fold(run)])
            run = ""
        if pieces := _of_part(operator, value):
            yield pieces
    if run:
        yield frozenset([fold(run)])


def _of_part(operator: Any, value: Any) -> Pieces | None:
    if operator is _constants.BRANCH:
        return _united(_of_sequence(branch) for branch in value[1])
    if operator is _constants.SUBPATTERN or operator is _constants.ASSERT:
        return _of_sequence(value[-1])
    if operator is _constants.ATOMIC_GROUP:
        return _of_sequence(value)
    if operator in _REPEATS:
        min_repeats, _, repeated = value
        return _of_sequence(repeated) if min_repeats else None
    return None


def _united(branches: Iterable[Pieces | None]) -> Pieces | None:
    """The pieces of all branches; None if one has none, or if they are too many."""
    united: set[str] = set()
    for pieces in branches:
        if not pieces:
            return None
        united |= pieces
    return frozenset(united) if len(united) <= MAX_PATTERN_PIECES else None
