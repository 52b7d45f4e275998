"""Represent the spans of a text that are to be masked, and replace them with masks."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memorybank.language.masks import MASK, mask
from memorybank.language.prefilter import Patterns

#: Replaces each existing mask during a search: one character that no rule matches.
MASK_PLACEHOLDER = "\ue000"
# Emphasis inside or around a word: readers see the word without it.
_SIGNS = re.compile(r"(?<=\w)[*`~]{1,3}|[*`~]{1,3}(?=\w)")
_NUMBER = re.compile(r"\d[\dA-Z ./-]{0,40}\d")


@dataclass(frozen=True, slots=True)
class SecretSpan:
    """A part of a text, and the kind of secret in it."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class SearchView:
    """A text for searching: without emphasis, each mask as one character. ``places`` map offsets back to the source."""

    text: str
    places: tuple[int, ...] | range

    @classmethod
    def of(cls, text: str) -> "SearchView":
        """The view of ``text``."""
        hidden = sorted([*MASK.finditer(text), *_SIGNS.finditer(text)], key=lambda match: match.start())
        if not hidden:
            return cls(text, range(len(text) + 1))
        parts: list[str] = []
        places: list[int] = []
        end = 0
        for match in hidden:
            if match.start() < end:
                continue
            parts.append(text[end : match.start()])
            places += range(end, match.start())
            if match[0].startswith("["):
                parts.append(MASK_PLACEHOLDER)
                places.append(match.start())
            end = match.end()
        return cls("".join(parts) + text[end:], (*places, *range(end, len(text) + 1)))

    def back(self, span: SecretSpan) -> SecretSpan:
        """The same span in the source text, with the emphasis inside it."""
        return SecretSpan(self.places[span.start], self.places[span.end - 1] + 1, span.kind)


def masked(text: str, spans: Iterable[SecretSpan]) -> tuple[str, list[tuple[str, str]]]:
    """The text with each span masked, and the masked values with their kinds; of overlapping spans the first wins."""
    parts: list[str] = []
    values: list[tuple[str, str]] = []
    end = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if span.start >= end:
            parts += [text[end : span.start], mask(span.kind)]
            values.append((text[span.start : span.end], span.kind))
        end = max(end, span.end)
    return "".join(parts) + text[end:], values


def outside(places: Sequence[tuple[int, int]], spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """The spans that do not begin inside one of these places, which are in order."""
    starts = [start for start, _ in places]
    for span in spans:
        number = bisect_right(starts, span.start)
        if not number or places[number - 1][1] <= span.start:
            yield span


def before_numbers(cue: Patterns[None], text: str, reach: int) -> Iterator[re.Match[str]]:
    """Matches of ``cue`` that begin at most ``reach`` characters before a number. Fast on most text, which has none."""
    windows: list[list[int]] = []
    for match in _NUMBER.finditer(text):
        if windows and match.start() - reach <= windows[-1][1]:
            windows[-1][1] = match.start()
        else:
            windows.append([max(0, match.start() - reach), match.start()])
    for pattern, _ in cue.possible(text) if windows else ():
        for start, end in windows:
            yield from pattern.finditer(text, start, end)
