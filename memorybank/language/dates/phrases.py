"""The phrases found in a text: none reaches into another, and one that has its date already is closed for good."""

import re
from collections.abc import Callable

#: How the phrase is written, given what will stand before it.
Writing = Callable[[str], str]

CLOSED = re.compile(r" ?[(（]")
REACH = 80  # characters: as far back as a phrase may look


class Phrases:
    """Claims on one text, the first claim on a stretch wins. All of them see the text as it was said.

    A phrase that is followed by a parenthesis is claimed and left as it is, so that nothing inside of it is found
    instead. A phrase looks back on what is *written* before it. So whoever resolves the result finds the same claims,
    all of them closed, and the same refusals.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._taken: set[int] = set()
        self._claims: dict[int, tuple[int, Writing]] = {}

    def claim(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], Writing | None]) -> None:
        """Take every free match that ``read`` can make sense of."""
        at = 0
        while match := pattern.search(self.text, at):
            place = range(*match.span())
            free = self._taken.isdisjoint(place)
            at = match.end() if free else match.start() + 1
            if free and (writing := read(match)):
                closed = CLOSED.match(self.text, match.end())
                self._taken.update(place)
                self._claims[match.start()] = (match.end(), _as_said(match) if closed else writing)

    def written(self) -> str:
        """The text with its phrases as their claims write them, from left to right."""
        pieces, before, end = [], "", 0
        for start, (stop, writing) in sorted(self._claims.items()):
            said = self.text[end:start]
            phrase = writing((before + said)[-REACH:])
            pieces += [said, phrase]
            before, end = (before + said + phrase)[-REACH:], stop
        return "".join([*pieces, self.text[end:]])


def _as_said(match: re.Match[str]) -> Writing:
    return lambda before: match[0]
