"""Chosen lines → text: one paragraph per chat or period, oldest first."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from memorybank.core.packing.items import Item, L, inert
from memorybank.language import tokens
from memorybank.language.sentences.splitting import with_full_stop
from memorybank.language.terms import word_count
from memorybank.safety.quoting import after_speaker

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
    return [item for paragraph in _by_paragraph(items) for item in _by_strand(paragraph)]


def _by_paragraph(items: Iterable[AnyItem]) -> list[list[AnyItem]]:
    """The items of each paragraph by time; paragraphs by era, then by their first item."""
    paragraphs: dict[tuple[Any, ...], list[AnyItem]] = {}
    for item in sorted(items, key=attrgetter("order")):
        paragraphs.setdefault(item.paragraph, []).append(item)
    return [paragraphs[key] for key in sorted(paragraphs, key=itemgetter(0))]


def _by_strand(items: Iterable[AnyItem]) -> Iterator[AnyItem]:
    """The items of a paragraph, those of each strand together, and in a strand those of each speaker."""
    strands: dict[object, dict[str, list[AnyItem]]] = {}
    for item in items:
        strands.setdefault(item.line.strand, {}).setdefault(item.line.speaker, []).append(item)
    for speakers in strands.values():
        for own in speakers.values():
            yield from own


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of the text: its items in their order, each as shown, and the line that they make."""

    worded: list[tuple[Item[Any], str]]
    line: str


class Sheet:
    """Lay out and count a text that changes in small steps: unchanged parts are neither laid out nor counted again."""

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._laid: dict[tuple[Item[Any], ...], Paragraph] = {}
        self._counted: dict[str, int] = {}

    def paragraphs(self, items: Sequence[Item[Any]]) -> list[str]:
        """The lines of these items: one paragraph for each chat or period."""
        return [paragraph.line for paragraph in self._lay_out(items)]

    def worded(self, items: Sequence[Item[L]]) -> Iterator[tuple[Item[L], str]]:
        """The items in their order, each with its text as shown."""
        for paragraph in self._lay_out(items):
            yield from paragraph.worded

    def _lay_out(self, items: Sequence[Item[Any]]) -> Iterator[Paragraph]:
        for own in _by_paragraph(items):
            key = tuple(own)
            if key not in self._laid:
                worded = list(_worded(_by_strand(own)))
                self._laid[key] = Paragraph(worded, _line(worded))
            yield self._laid[key]

    def count(self, text: str) -> int:
        """How many tokens ``text`` is."""
        *lines, last = SEAM.split(text)
        return sum(map(self._count, [*(line + "\n" for line in lines), last]))

    def _count(self, lines: str) -> int:
        if lines not in self._counted:
            self._counted[lines] = tokens.count(lines, self.encoding)
        return self._counted[lines]


def _worded(items: Iterable[AnyItem]) -> Iterator[tuple[AnyItem, str]]:
    """The items of a paragraph, each with its text as shown: near the date of the paragraph, dates are shortened."""
    words = 0
    for item in items:
        if words >= NEAR_DATE_WORDS:
            yield item, item.text
            continue
        words += word_count(after_speaker(item.near_its_date, item.is_report))
        yield item, item.near_its_date


def _line(worded: Sequence[tuple[Item[Any], str]]) -> str:
    """A paragraph: its date, then each speaker with their lines; no line of text begins with a fact's own words.

    A speaker is named again for a report, after a report, and every ``WORDS_PER_NAME`` words. Consecutive reports of a
    speaker are one quotation.
    """
    line = _inert_name(worded[0][0].line.label) or "-"
    last = ""
    words, after_report = 0, False
    for place, (item, text) in enumerate(worded):
        speaker, is_report = _inert_name(item.line.speaker), item.is_report
        wording = after_speaker(text, is_report)
        begins = place == 0 or item.line.speaker != last or words >= WORDS_PER_NAME
        if not begins and is_report and after_report:
            line = f"{with_full_stop(line.removesuffix('”'))} {text}”"
        elif speaker and (begins or is_report or after_report):
            line += f" {speaker} {wording}" if is_report else f" {speaker}: {wording}"
        else:
            line += f": {wording}" if place == 0 else f" {wording}"
        words = word_count(wording) + (0 if begins else words)
        last, after_report = item.line.speaker, is_report
    return line
