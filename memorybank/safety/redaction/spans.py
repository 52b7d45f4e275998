"""Where something to be masked stands, and a text with masks in its place."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memorybank.language.masks import MASK, mask

#: What a mask is while a text is searched: one character that no rule knows.
MASKED = "\ue000"
# Emphasis within or around a word: a reader sees the word without it.
_SIGNS = re.compile(r"(?<=\w)[*`~]{1,3}|[*`~]{1,3}(?=\w)")
_NUMBER = re.compile(r"\d[\dA-Z ./-]{0,40}\d")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, and what it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class View:
    """A text as it is searched: without emphasis, with masks as one character. ``places`` lead back."""

    text: str
    places: tuple[int, ...] | range

    @classmethod
    def of(cls, text: str) -> "View":
        """What a reader sees of ``text``."""
        hidden = sorted([*MASK.finditer(text), *_SIGNS.finditer(text)], key=lambda match: match.start())
        if not hidden:
            return cls(text, range(len(text) + 1))
        parts: list[str] = []
        places: list[int] = []
        at = 0
        for match in hidden:
            if match.start() < at:
                continue
            parts.append(text[at : match.start()])
            places += range(at, match.start())
            if match[0].startswith("["):
                parts.append(MASKED)
                places.append(match.start())
            at = match.end()
        return cls("".join(parts) + text[at:], (*places, *range(at, len(text) + 1)))

    def back(self, span: Span) -> Span:
        """The same span in the text itself, with the emphasis inside it."""
        return Span(self.places[span.start], self.places[span.end - 1] + 1, span.kind)


def masked(text: str, spans: Iterable[Span]) -> tuple[str, list[tuple[str, str]]]:
    """The text with each span replaced, and what stood there with its kind; of overlapping ones the first counts."""
    parts: list[str] = []
    values: list[tuple[str, str]] = []
    at = 0
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if span.start >= at:
            parts += [text[at : span.start], mask(span.kind)]
            values.append((text[span.start : span.end], span.kind))
        at = max(at, span.end)
    return "".join(parts) + text[at:], values


def before_numbers(cue: re.Pattern[str], text: str, reach: int) -> Iterator[re.Match[str]]:
    """The matches of ``cue`` that begin in the ``reach`` characters before a number: most text has none there."""
    windows: list[list[int]] = []
    for match in _NUMBER.finditer(text):
        if windows and match.start() - reach <= windows[-1][1]:
            windows[-1][1] = match.start()
        else:
            windows.append([max(0, match.start() - reach), match.start()])
    for start, end in windows:
        yield from cue.finditer(text, start, end)
