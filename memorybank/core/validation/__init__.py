"""Validate a model's lines of memory: each must cite its sources and state nothing that they do not.

The answer to a summarising prompt is lines ``- KIND: text [1,3]``. A line is accepted only if it cites labels the model
was shown, is short, and states no number, date, identifier, address or link that its cited sources do not.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from memorybank.core.validation.claims import claims
from memorybank.core.validation.evidence import Evidence
from memorybank.core.validation.line_parser import KINDS, Form, Line, parse, parse_row, rows, says_nothing
from memorybank.language.terms import length
from memorybank.safety import quarantine
from memorybank.safety.escaping import escape

__all__ = [
    "KINDS",
    "Accepted",
    "Evidence",
    "Form",
    "Line",
    "accept",
    "escape",
    "first_unsupported",
    "gist",
    "parse",
    "rows",
    "says_nothing",
    "unsupported",
]

MAX_WORDS = 60
MAX_SHOWN = 300
LETTERS_A_WORD = 20  # on average; text with longer words is not a sentence


@dataclass(frozen=True, slots=True)
class Accepted:
    """The accepted lines of an answer, and the rejected ones as (line, reason), the reason without chat text.

    ``nothing`` means the model said that nothing is worth keeping, which is a valid answer; neither lines nor
    ``nothing`` is a failure.
    """

    lines: tuple[Line, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    nothing: bool = False


def accept(answer: str, sources: Mapping[str, str], *, max_words: int = MAX_WORDS) -> Accepted:
    """Check every line of ``answer`` against ``sources``: label → the exact text shown, dates included.

    Never raises, whatever the answer. Lines that read like instructions are returned with their ``quarantine`` reason.
    """
    if says_nothing(answer):
        return Accepted(nothing=True)
    accepted: dict[str, Line] = {}
    rejected: list[tuple[str, str]] = []
    evidence = _Library(sources)
    for raw in rows(answer):
        written = parse_row(raw)
        line = written and replace(written, text=escape(written.text))
        why = _objection(line, evidence, max_words, accepted) if line else "not of the form “- KIND: text [1]”"
        if line and written and not why:
            accepted[gist(line.text)] = _judged(line, written.text)
        else:
            rejected.append((escape(raw)[:MAX_SHOWN], why))
    return Accepted(tuple(accepted.values()), tuple(rejected))


def unsupported(text: str, sources: Iterable[str]) -> str:
    """The first claim of ``text`` that no source supports: "a number", "a date", "an identifier", … or ""."""
    return first_unsupported(text, [Evidence.of(source) for source in sources])


class _Library:
    """Evidence of each source, read once and only if a line cites it."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources
        self._read: dict[str, Evidence] = {}

    def of(self, label: str) -> Evidence:
        if label not in self._read:
            self._read[label] = Evidence.of(self.sources[label])
        return self._read[label]


def _judged(line: Line, written: str) -> Line:
    """The line with its quarantine reason: checked as the model wrote it, and as it would be stored."""
    return replace(line, quarantine=line.quarantine or quarantine.reason(written) or quarantine.reason(line.text))


def _objection(line: Line, evidence: _Library, max_words: int, accepted: Container[str]) -> str:
    """Why the line may not be kept, or ""."""
    if not any(character.isalnum() for character in line.text):
        return "has no text"
    if not line.labels:
        return "cites nothing"
    if any(label not in evidence.sources for label in line.labels):
        return "cites what was not shown"
    if length(line.text) > max_words or len(line.text) > max_words * LETTERS_A_WORD:
        return f"longer than {max_words} words"
    if gist(line.text) in accepted:
        return "says the same as a line before it"
    missing = first_unsupported(line.text, [evidence.of(label) for label in line.labels])
    return f"states {missing} that its cited sources do not" if missing else ""


def first_unsupported(text: str, evidence: Sequence[Evidence]) -> str:
    """Like :func:`unsupported`, for evidence that is already read."""
    return next((claim.what for claim in claims(text) if not claim.supported(evidence)), "")


def gist(text: str) -> str:
    """A key that is equal for lines that say the same."""
    return "".join(character for character in text.casefold() if character.isalnum())
