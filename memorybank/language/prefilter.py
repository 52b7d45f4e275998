"""Skip regular expressions that cannot match a text, because it contains none of their required substrings ("pieces").

Hundreds of patterns in many languages are tried on every sentence, and nearly none matches. A pattern's pieces are read
from its parsed form: every text with a match contains at least one of them. A pattern without pieces is always tried.
So fewer patterns are tried, with the same results.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

# Not public, but the same in Python 3.11 to 3.14. Where it changes, test_prefilter fails: no pattern has pieces.
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Generic, TypeVar

from memorybank.language.work_cache import last_per_work

#: More alternative pieces than this are not used: a pattern with no others is always tried.
MAX_PATTERN_PIECES = 400
#: Letters that ``re.IGNORECASE`` equates with "i", but ``str.casefold`` does not.
_LETTERS_I = str.maketrans({0x130: "i", 0x131: "i"})
_DIGIT = re.compile(r"\d")
_REPEATS = frozenset([_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT])

T = TypeVar("T")
Pieces = frozenset[str]
#: Finds the matches of one of the patterns in a text.
Finder = Callable[[re.Pattern[str]], Iterator[re.Match[str]]]


def fold(text: str) -> str:
    """Fold case so that texts which ``re.IGNORECASE`` treats as equal become the same."""
    return text.casefold() if text.isascii() else text.translate(_LETTERS_I).casefold()


class Patterns(Generic[T]):
    """Patterns that are searched together, each with the value that it stands for."""

    def __init__(self, patterns: Iterable[tuple[re.Pattern[str], T]]) -> None:
        self._patterns = tuple(patterns)

    def possible(self, text: str) -> list[tuple[re.Pattern[str], T]]:
        """The patterns that may match ``text``, in their order."""
        folded, grams = _searched(text)
        index = self._ascii_index if folded.isascii() else self._index
        numbers = set(index.always)
        for gram in index.by_gram.keys() & grams:
            for piece, of in index.by_gram[gram]:
                if piece in folded:
                    numbers |= of
        for piece, of in index.short:
            if piece in folded:
                numbers |= of
        if not self._with_digits.isdisjoint(numbers) and not _DIGIT.search(text):
            numbers -= self._with_digits
        return [self._patterns[number] for number in sorted(numbers)]

    def found(self, text: str) -> Iterator[T]:
        """The values of the patterns that match ``text``, in their order."""
        return (stands_for for pattern, stands_for in self.possible(text) if pattern.search(text))

    def finder(self, text: str) -> Finder:
        """A function that finds the matches of one of the patterns in ``text``."""
        possible = {id(pattern) for pattern, _ in self.possible(text)}
        return lambda pattern: pattern.finditer(text) if id(pattern) in possible else iter(())

    @cached_property
    def _ascii_index(self) -> "_Index":
        """The index for a text in ASCII, in which no other piece occurs."""
        return _Index.of({piece: of for piece, of in self._pieces.items() if piece.isascii()}, self._index.always)

    @cached_property
    def _index(self) -> "_Index":
        known = frozenset(number for of in self._pieces.values() for number in of)
        return _Index.of(self._pieces, frozenset(range(len(self._patterns))) - known)

    @cached_property
    def _with_digits(self) -> frozenset[int]:
        return frozenset(number for number, (pattern, _) in enumerate(self._patterns) if needs_digit(pattern))

    @cached_property
    def _pieces(self) -> dict[str, frozenset[int]]:
        """The pieces, each with the numbers of its patterns."""
        numbers: dict[str, set[int]] = {}
        for number, (pattern, _) in enumerate(self._patterns):
            for piece in pieces_of(pattern):
                numbers.setdefault(piece, set()).add(number)
        return {piece: frozenset(of) for piece, of in numbers.items()}


@dataclass(frozen=True, slots=True)
class _Index:
    """The pieces of patterns, with the numbers of these: by their rarest gram, or one by one if they are shorter.

    ``always`` are the patterns without pieces.
    """

    by_gram: dict[str, list[tuple[str, frozenset[int]]]]
    short: list[tuple[str, frozenset[int]]]
    always: frozenset[int]

    @classmethod
    def of(cls, pieces: dict[str, frozenset[int]], always: frozenset[int]) -> "_Index":
        grams = {piece: own for piece in pieces if (own := _grams_of(piece))}
        counts = Counter(gram for own in grams.values() for gram in own)
        by_gram: dict[str, list[tuple[str, frozenset[int]]]] = {}
        for piece, own in grams.items():
            by_gram.setdefault(min(own, key=lambda gram: (counts[gram], gram)), []).append((piece, pieces[piece]))
        return cls(by_gram, [(piece, of) for piece, of in pieces.items() if piece not in grams], always)


def _grams_of(text: str) -> set[str]:
    """All substrings of three characters."""
    return set(map("".join, zip(text, text[1:], text[2:], strict=False)))


@last_per_work  # several sets of patterns are tried on a text, one after the other
def _searched(text: str) -> tuple[str, set[str]]:
    """The folded text and its grams."""
    folded = fold(text)
    return folded, _grams_of(folded)


def pieces_of(pattern: re.Pattern[str]) -> Pieces:
    """The folded pieces of a pattern: every text with a match contains one of them. Empty if it has none."""
    return _of_sequence(_parser.parse(pattern.pattern, pattern.flags)) or frozenset()


def needs_digit(pattern: re.Pattern[str]) -> bool:
    """Whether every match of a pattern contains a digit, or stands beside one."""
    return _has_digit(_parser.parse(pattern.pattern, pattern.flags))


def _has_digit(parsed: Iterable[tuple[Any, Any]]) -> bool:
    return any(_is_digit(operator, value) for operator, value in parsed)


def _is_digit(operator: Any, value: Any) -> bool:
    if operator is _constants.LITERAL:
        return chr(value) in "0123456789"
    if operator is _constants.IN:
        return all(
            part == (_constants.CATEGORY, _constants.CATEGORY_DIGIT)
            or (operation is _constants.RANGE and ord("0") <= bounds[0] <= bounds[1] <= ord("9"))
            or (operation is _constants.LITERAL and chr(bounds) in "0123456789")
            for part in value
            for operation, bounds in [part]
        )
    if operator is _constants.BRANCH:
        return all(map(_has_digit, value[1]))
    if operator is _constants.SUBPATTERN or operator is _constants.ASSERT:
        return _has_digit(value[-1])
    if operator is _constants.ATOMIC_GROUP:
        return _has_digit(value)
    return operator in _REPEATS and value[0] > 0 and _has_digit(value[2])


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
