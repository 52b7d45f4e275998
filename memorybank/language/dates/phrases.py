"""The date phrases found in one text: they never overlap, and a phrase that already has its date is left alone."""

import re
from collections.abc import Callable

#: Writes the phrase, given the text before it.
PhraseWriter = Callable[[str], str]

OPENING_PARENTHESIS = re.compile(r" ?[(（]")
LOOKBACK_CHARACTERS = 80


class Phrases:
    """Claims on one text; the first claim on a stretch wins. Every claim sees the original text.

    A phrase before a parenthesis is claimed and left unchanged, so that nothing inside it is found instead. A phrase
    looks back on the *rewritten* text before it. So resolving the result again finds the same claims, all of them
    followed by a parenthesis, and the same refusals.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._taken: set[int] = set()
        self._claims: dict[int, tuple[int, PhraseWriter]] = {}

    def claim(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], PhraseWriter | None]) -> None:
        """Take every match that overlaps no other claim and that ``read`` can interpret."""
        position = 0
        while match := pattern.search(self.text, position):
            offsets = range(*match.span())
            is_free = self._taken.isdisjoint(offsets)
            position = match.end() if is_free else match.start() + 1
            if is_free and (writing := read(match)):
                closed = OPENING_PARENTHESIS.match(self.text, match.end())
                self._taken.update(offsets)
                self._claims[match.start()] = (match.end(), _unchanged(match) if closed else writing)

    def written(self) -> str:
        """The text with each claimed phrase rewritten, from left to right."""
        pieces, before, end = [], "", 0
        for start, (stop, writing) in sorted(self._claims.items()):
            between = self.text[end:start]
            phrase = writing((before + between)[-LOOKBACK_CHARACTERS:])
            pieces += [between, phrase]
            before, end = (before + between + phrase)[-LOOKBACK_CHARACTERS:], stop
        return "".join([*pieces, self.text[end:]])


def _unchanged(match: re.Match[str]) -> PhraseWriter:
    return lambda before: match[0]
