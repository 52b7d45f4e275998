"""Chosen lines → text: one paragraph per chat or period, oldest first."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from memorybank.core.packing.items import Item, inert
from memorybank.language import tokens
from memorybank.language.terms import word_count

# No token spans a line break before a plain letter or digit, so the counts on either side add up.
SEAM = re.compile(r"\n(?=[0-9A-Za-z])")

#: Within this many words after the date of its paragraph, a fact's own dates are shortened. Measured: fewer words save
#: less; 20 to 35 save the same.
NEAR_DATE_WORDS = 20

AnyItem = TypeVar("AnyItem", bound=Item[Any])


def ordered(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Sort by era (of facts, the coarsest tier first) and time; in a paragraph, keep each chat and speaker together.

    There are no tier headings: a chat that moves to the next tier would shift them, and with them every
    byte that a provider has cached (measured: median unchanged prefix .46 with headings, .82 without).
    """
    by_time = sorted(items, key=lambda item: item.line.order)
    first: dict[tuple[object, ...], int] = {}
    for place, item in enumerate(by_time):
        strand = (*item.paragraph, item.line.strand)
        for group in (item.paragraph, strand, (*strand, item.line.speaker)):
            first.setdefault(group, place)

    def place_of(item: AnyItem) -> tuple[Any, int, int, int]:
        strand = (*item.paragraph, item.line.strand)
        speaker = (*strand, item.line.speaker)
        return (item.paragraph[0], first[item.paragraph], first[strand], first[speaker])

    return sorted(by_time, key=place_of)


class Sheet:
    """Lay out and count a text that changes in small steps: unchanged parts are neither laid out nor counted again."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._laid: dict[tuple[Item[Any], ...], list[str]] = {}
        self._counted: dict[str, int] = {}

    def paragraphs(self, items: Sequence[Item[Any]]) -> list[str]:
        """The lines of these items."""
        key = tuple(items)
        if key not in self._laid:
            self._laid[key] = paragraphs(key)
        return self._laid[key]

    def count(self, text: str) -> int:
        """How many tokens ``text`` is."""
        *lines, last = SEAM.split(text)
        return sum(map(self._count, [*(line + "\n" for line in lines), last]))

    def _count(self, lines: str) -> int:
        if lines not in self._counted:
            self._counted[lines] = tokens.count(lines, self.encoding)
        return self._counted[lines]


def worded(items: Sequence[AnyItem]) -> Iterator[tuple[AnyItem, str]]:
    """The items in their order, each with its text as shown: near the date of its paragraph, dates are shortened."""
    paragraph, words = None, 0
    for item in ordered(items):
        if item.paragraph != paragraph:
            paragraph, words = item.paragraph, 0
        text = item.near_its_date if words < NEAR_DATE_WORDS else item.text
        words += word_count(text)
        yield item, text


def paragraphs(items: Sequence[Item[Any]]) -> list[str]:
    """The date, then each speaker once with their lines. No line of the text begins with a fact's own words."""
    lines: list[str] = []
    last: Item[Any] | None = None
    for item, text in worded(items):
        line = item.line
        if last is None or last.paragraph != item.paragraph:
            lines.append(inert(line.label) or "-")
            last = None
        if line.speaker and (last is None or last.line.speaker != line.speaker):
            lines[-1] += f" {inert(line.speaker)}:"
        elif last is None:
            lines[-1] += ":"
        lines[-1] += f" {text}"
        last = item
    return lines
