"""Parse a model's answer into lines: kind, text, cited labels."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memorybank.core.turns import STEERS_ASSISTANT
from memorybank.language import alternation, meanings, packs

FACT_KINDS = ("fact", "decision", "plan", "preference", "question")
#: A model's kind for a line that steers the assistant: stored as a fact and quarantined.
INSTRUCTION_KIND = "instruction"

# Models asked in another language write the kind in it.
_KINDS_BY_LABEL = meanings(pack.kinds.labels for pack in packs())

_DASH = r"[-*+•‣◦·・–—](?!\d)"
_BULLET = re.compile(rf"^(?:{_DASH}|\(?\d{{1,3}}[.)、．](?=\s|\*))\s*")
_BULLETS = re.compile(rf"^(?:{_DASH}\s*)+")
_LABEL = r"(?:(?:turns?|facts?|#)\s*)?[Ff]?\d{1,6}"
_ITEM = rf"{_LABEL}(?:\s*[-–—‒~]\s*{_LABEL})?"
_GROUP = rf"[\[［【〔]\s*{_ITEM}(?:(?:\s*[,;，、；&/]\s*|\s+){_ITEM})*\s*[,;]?\s*[\]］】〕]"
# A match cannot begin right after a group, so adjacent groups match at once and are never tried again one by one.
_NOT_AFTER_GROUP = "".join(rf"(?<![\]］】〕][\s,;]{{{gap}}})" for gap in range(4))
_CITATIONS_AT_END = re.compile(rf"{_NOT_AFTER_GROUP}(?>(?:[\s,;]{{0,3}}{_GROUP})+)\s*[.。．!！?？;；]*\s*[*_]*\s*$")
_CITATION_INSIDE = re.compile(rf"(?<![\w\]]){_GROUP}")
_LABEL_RANGE = re.compile(r"([Ff]?)(\d{1,6})(?:\s*[-–—‒~]\s*(?:(?:turns?|facts?|#)\s*)?[Ff]?(\d{1,6}))?")
_NOTHING = re.compile(r"^(?:fact\s*:\s*)?[*_\"'`]{0,3}nothing[*_\"'`]{0,3}\s*(?:\[\s*\])?\s*[.!。]?$", re.I)

MAX_CITED_RANGE = 500


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """One line of an answer. ``labels`` are the cited labels as shown to the model: "3", "F2".

    ``quarantine`` is why it must not be shown to a model ("" if it may).
    """

    kind: str
    text: str
    labels: tuple[str, ...]
    quarantine: str = ""


class LineFormat:
    """The line format of an answer: words for kinds, the kind of lines without one, and whether lines cite.

    Only lines that cite may be numbered, because lists in prose are numbered, too.
    """

    def __init__(self, kinds: Mapping[str, str], otherwise: str, *, cited: bool) -> None:
        self.kinds, self.otherwise, self.cited = kinds, otherwise, cited
        self._bullet = _BULLET if cited else _BULLETS
        words = rf"[*_`\[(【]{{0,3}}\s*({alternation(kinds)})\s*[*_`\])】]{{0,3}}"
        self._kind = re.compile(rf"^{words}\s*[:：]\s*[*_]{{0,2}}\s*", re.I)

    def parse(self, answer: str) -> list[ParsedLine]:
        """The lines of ``answer`` in this format; nothing is checked or escaped."""
        return [line for raw in answer_rows(answer) if (line := self.parse_row(raw))]

    def parse_row(self, raw: str) -> ParsedLine | None:
        """One row, if it has a bullet or a citation; prose around the list has neither."""
        body = self._bullet.sub("", raw, count=1)
        text, labels = _cut_citations(body) if self.cited else (body, ())
        if body == raw and not labels:
            return None
        match = self._kind.match(text)
        kind = self.kinds[match[1].lower()] if match else self.otherwise
        text = text[match.end() :].strip() if match else text
        return (
            ParsedLine("fact", text, labels, STEERS_ASSISTANT)
            if kind == INSTRUCTION_KIND
            else ParsedLine(kind, text, labels)
        )


#: The format of lines of memory.
FACT_LINES = LineFormat(_KINDS_BY_LABEL, "fact", cited=True)
parse, parse_row = FACT_LINES.parse, FACT_LINES.parse_row


def answer_rows(answer: str) -> list[str]:
    """The non-blank rows of ``answer``, white space collapsed (which keeps the patterns linear)."""
    return [row for raw in answer.splitlines() if (row := " ".join(raw.split()))]


def says_nothing(answer: str) -> bool:
    """True for the one-line answer ``- nothing``: the model found nothing worth keeping."""
    nonblank = answer_rows(answer)
    return len(nonblank) == 1 and bool(_NOTHING.match(_BULLET.sub("", nonblank[0], count=1)))


def _cut_citations(body: str) -> tuple[str, tuple[str, ...]]:
    """The text without its citations, and their labels in order; citations inside a sentence count, too."""
    groups: list[str] = []
    tail = _CITATIONS_AT_END.search(body)
    if tail:
        groups.append(tail[0])
        body = body[: tail.start()]
    groups[:0] = _CITATION_INSIDE.findall(body)
    text = _CITATION_INSIDE.sub("", body) if groups else body
    text = " ".join(re.sub(r" +([.,;:!?])", r"\1", text).split()) if groups else text
    return text, tuple(dict.fromkeys(label for group in groups for label in _labels(group)))


def _labels(group: str) -> list[str]:
    labels: list[str] = []
    for letter, first, last in _LABEL_RANGE.findall(group):
        start, end = int(first), int(last or first)
        if end - start > MAX_CITED_RANGE:
            end = start
        labels += [f"{letter.upper()}{number}" for number in range(start, end + 1)]
    return labels
