"""Chosen lines → text: one paragraph per chat or period, oldest first."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from memorybank.core.packing.items import Item, inert
from memorybank.language import tokens
from memorybank.language.terms import word_count
from memorybank.safety.quoting import REPORTED, report_in

# No token spans a line break before a plain letter or digit, so the counts on either side add up.
SEAM = re.compile(r"\n(?=[0-9A-Za-z])")

#: Within this many words after the date of its paragraph, a fact's own dates are shortened. Measured: fewer words save
#: less; 20 to 35 save the same.
NEAR_DATE_WORDS = 20

#: A speaker's name is repeated after this many words, because a reader forgets whose words they are.
WORDS_PER_NAME = 50

AnyItem = TypeVar("AnyItem", bound=Item[Any])
#: Labels and names of speakers are few, and each layout writes them again.
_inert_name = lru_cache(maxsize=4096)(inert)


def ordered(items: Sequence[AnyItem]) -> list[AnyItem]:
    """Sort by era (of facts, the coarsest tier first) and time; in a paragraph, keep each chat and speaker together.

    There are no tier headings: a chat that moves to the next tier would shift them, and with them every
    byte that a provider has cached (measured: median unchanged prefix .46 with headings, .82 without).
    """
    by_time = sorted(items, key=lambda item: item.line.order)
    first: dict[tuple[object, ...], int] = {}
    keys: list[tuple[Any, int, int, int]] = []
    for place, item in enumerate(by_time):
        paragraph, line = item.paragraph, item.line
        strand = (*paragraph, line.strand)
        begun = first.setdefault(paragraph, place), first.setdefault(strand, place)
        keys.append((paragraph[0], *begun, first.setdefault((*strand, line.speaker), place)))
    return [by_time[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]


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
        if words >= NEAR_DATE_WORDS:
            yield item, item.text
            continue
        words += word_count(item.near_its_date)
        yield item, item.near_its_date


def paragraphs(items: Sequence[Item[Any]]) -> list[str]:
    """Paragraphs of a date, then each speaker with their lines; no line of text begins with a fact's own words.

    A speaker is named again for a report, after a report, and every ``WORDS_PER_NAME`` words. Consecutive reports of a
    speaker are one quotation.
    """
    lines: list[str] = []
    last: Item[Any] | None = None
    words, after_report = 0, False
    for item, text in worded(items):
        speaker, is_report = _inert_name(item.line.speaker), bool(report_in(text))
        if last is None or last.paragraph != item.paragraph:
            lines.append(_inert_name(item.line.label) or "-")
            last = None
        begins = last is None or last.line.speaker != item.line.speaker or words >= WORDS_PER_NAME
        if not begins and is_report and after_report:
            lines[-1] = f"{lines[-1].removesuffix('”')} {text.removeprefix(REPORTED)}"
        elif speaker and (begins or is_report or after_report):
            lines[-1] += f" {speaker} {text}" if is_report else f" {speaker}: {text}"
        else:
            lines[-1] += f": {text}" if last is None else f" {text}"
        words = word_count(text) + (0 if begins else words)
        last, after_report = item, is_report
    return lines
