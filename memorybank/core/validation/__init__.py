"""Validate a model's lines of memory: each must cite its sources and state nothing that they do not.

The answer to a summarising prompt is lines ``- KIND: text [1,3]``. A line is accepted only if it cites labels the model
was shown, is short, and states no number, date, identifier, address or link that its cited sources do not.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from memorybank.core.validation.claims import DATE_CLAIM, claims
from memorybank.core.validation.evidence import Evidence
from memorybank.core.validation.line_parser import (
    FACT_KINDS,
    LineFormat,
    ParsedLine,
    answer_rows,
    parse,
    parse_row,
    says_nothing,
)
from memorybank.language.terms import terms, word_count
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape

__all__ = [
    "FACT_KINDS",
    "AcceptedLines",
    "Evidence",
    "LineFormat",
    "ParsedLine",
    "accept",
    "answer_rows",
    "comparison_key",
    "escape",
    "first_unsupported",
    "parse",
    "says_nothing",
    "unsupported",
]

MAX_LINE_WORDS = 60
#: A source that shares fewer words with a line is not added to its citations.
MIN_SHARED_TERMS = 2
#: The reason for a row that is no line: prose around the list.
NOT_A_LINE = "not of the form “- KIND: text [1]”"
#: The text of the row in which a model lists what it left out.
LEFT_OUT = re.compile(r"(?:left[ -]out|omitted)\s*:?\s*(?:\[\s*\])?", re.I)
MAX_REJECTED_CHARACTERS = 300
MAX_CHARACTERS_PER_WORD = 20  # on average; text with longer words is not a sentence


@dataclass(frozen=True, slots=True)
class AcceptedLines:
    """The accepted lines of an answer, and the rejected ones as (line, reason), the reason without chat text.

    ``nothing`` means the model said that nothing is worth keeping, which is a valid answer; an answer with neither
    lines nor ``nothing`` is a failure. ``left_out`` has the labels that the model says it left out.
    """

    lines: tuple[ParsedLine, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    nothing: bool = False
    left_out: frozenset[str] = frozenset()


def accept(answer: str, sources: Mapping[str, str]) -> AcceptedLines:
    """Check every line of ``answer`` against ``sources``: label → the exact text shown, dates included.

    Never raises, whatever the answer. Lines that read like instructions are returned with their ``quarantine`` reason.
    """
    if says_nothing(answer):
        return AcceptedLines(nothing=True)
    accepted: dict[str, ParsedLine] = {}
    rejected: list[tuple[str, str]] = []
    left_out: set[str] = set()
    evidence = _EvidenceBySource(sources)
    for raw in answer_rows(answer):
        written = parse_row(raw)
        if written and LEFT_OUT.fullmatch(written.text):
            left_out.update(written.labels)
            continue
        line = written and _with_missing_citations(replace(written, text=escape(written.text)), evidence)
        why = _objection(line, evidence, accepted) if line else NOT_A_LINE
        if line and written and not why:
            accepted[comparison_key(line.text)] = _with_quarantine(line, written.text)
        else:
            rejected.append((escape(raw)[:MAX_REJECTED_CHARACTERS], why))
    return AcceptedLines(tuple(accepted.values()), tuple(rejected), left_out=frozenset(left_out) & sources.keys())


def unsupported(text: str, sources: Iterable[str]) -> str:
    """The first claim of ``text`` that no source supports: "a number", "a date", "an identifier", … or ""."""
    return first_unsupported(text, [Evidence.of(source) for source in sources])


class _EvidenceBySource:
    """Evidence and words of each source, read once and only if a line needs them."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources
        self._read: dict[str, Evidence] = {}

    @cached_property
    def _terms(self) -> dict[str, frozenset[str]]:
        return {label: frozenset(terms(text)) for label, text in self.sources.items()}

    def related(self, text: str) -> list[str]:
        """The sources that share at least ``MIN_SHARED_TERMS`` words with ``text``."""
        words = frozenset(terms(text))
        return [label for label, theirs in self._terms.items() if len(words & theirs) >= MIN_SHARED_TERMS]

    def of(self, label: str) -> Evidence:
        if label not in self._read:
            self._read[label] = Evidence.of(self.sources[label])
        return self._read[label]


def _with_quarantine(line: ParsedLine, written: str) -> ParsedLine:
    """The line with its quarantine reason: both the model's wording and the stored one are checked."""
    return replace(line, quarantine=line.quarantine or quarantine.reason(written) or quarantine.reason(line.text))


def _with_missing_citations(line: ParsedLine, evidence: _EvidenceBySource) -> ParsedLine:
    """Add citations for claims that the cited sources lack: the only source that states the claim.

    For a date, it is the nearest source that states it. Only sources that share words with the line are added, because
    the same number about something else supports nothing.
    """
    if not line.labels or any(label not in evidence.sources for label in line.labels):
        return line
    cited = dict.fromkeys(line.labels)
    related: list[str] | None = None
    for claim in claims(line.text):
        if claim.supported([evidence.of(label) for label in cited]):
            continue
        related = evidence.related(line.text) if related is None else related
        stating = [label for label in related if claim.supported([evidence.of(label)])]
        if claim.what == DATE_CLAIM or len(stating) == 1:
            cited.update(dict.fromkeys(sorted(stating, key=lambda label: _distance(label, line.labels))[:1]))
    return replace(line, labels=tuple(cited))


def _distance(label: str, labels: Sequence[str]) -> int:
    """How many items lie between one and the nearest of others."""
    number = int(label.lstrip("F"))
    return min(abs(number - int(other.lstrip("F"))) for other in labels)


def _objection(line: ParsedLine, evidence: _EvidenceBySource, accepted: Container[str]) -> str:
    """Why the line may not be kept, or ""."""
    if not any(character.isalnum() for character in line.text):
        return "has no text"
    if not line.labels:
        return "cites nothing"
    if any(label not in evidence.sources for label in line.labels):
        return "cites what was not shown"
    if word_count(line.text) > MAX_LINE_WORDS or len(line.text) > MAX_LINE_WORDS * MAX_CHARACTERS_PER_WORD:
        return f"longer than {MAX_LINE_WORDS} words"
    if comparison_key(line.text) in accepted:
        return "says the same as a line before it"
    missing = first_unsupported(line.text, [evidence.of(label) for label in line.labels])
    return f"states {missing} that its cited sources do not" if missing else ""


def first_unsupported(text: str, evidence: Sequence[Evidence]) -> str:
    """Like :func:`unsupported`, for evidence that is already read."""
    return next((claim.what for claim in claims(text) if not claim.supported(evidence)), "")


def comparison_key(text: str) -> str:
    """A key that is equal for lines that say the same."""
    return "".join(character for character in text.casefold() if character.isalnum())
