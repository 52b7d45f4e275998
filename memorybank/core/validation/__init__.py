"""Lines of memory: what a model may write, and the proof that its sources say so.

The answer to a summarising prompt is lines ``- KIND: text [1,3]``. A line is kept only if it cites
what the model was shown, is short, and states no number, date, identifier, address or link that
its cited sources do not.
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
MAX_SHOWN = 300  # characters of a rejected line
LETTERS_A_WORD = 20  # longer on average is no sentence but a blob


@dataclass(frozen=True, slots=True)
class Accepted:
    """What may be kept of an answer, and what not: (line, why), the why without chat text.

    ``nothing`` means the model said that nothing is worth keeping, which is an answer; neither
    lines nor ``nothing`` is a failure.
    """

    lines: tuple[Line, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    nothing: bool = False


def accept(answer: str, sources: Mapping[str, str], *, max_words: int = MAX_WORDS) -> Accepted:
    """Check every line of ``answer`` against ``sources``: label → the exact text shown, dates included.

    Never raises, whatever the answer. Lines that read like instructions come back with their
    ``quarantine`` reason.
    """
    if says_nothing(answer):
        return Accepted(nothing=True)
    kept: dict[str, Line] = {}
    rejected: list[tuple[str, str]] = []
    library = _Library(sources)
    for raw in rows(answer):
        written = parse_row(raw)
        line = written and replace(written, text=escape(written.text))
        why = _objection(line, library, max_words, kept) if line else "not of the form “- KIND: text [1]”"
        if line and written and not why:
            kept[gist(line.text)] = _judged(line, written.text)
        else:
            rejected.append((escape(raw)[:MAX_SHOWN], why))
    return Accepted(tuple(kept.values()), tuple(rejected))


def unsupported(text: str, sources: Iterable[str]) -> str:
    """What ``text`` states that no source does: "a number", "a date", "an identifier", … or ""."""
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
    """The line with its quarantine reason: judged as the model wrote it, and as it would be stored."""
    return replace(line, quarantine=line.quarantine or quarantine.reason(written) or quarantine.reason(line.text))


def _objection(line: Line, library: _Library, max_words: int, kept: Container[str]) -> str:
    """Why the line may not be kept, or ""."""
    if not any(character.isalnum() for character in line.text):
        return "has no text"
    if not line.labels:
        return "cites nothing"
    if any(label not in library.sources for label in line.labels):
        return "cites what was not shown"
    if length(line.text) > max_words or len(line.text) > max_words * LETTERS_A_WORD:
        return f"longer than {max_words} words"
    if gist(line.text) in kept:
        return "says the same as a line before it"
    missing = first_unsupported(line.text, [library.of(label) for label in line.labels])
    return f"states {missing} that its cited sources do not" if missing else ""


def first_unsupported(text: str, evidence: Sequence[Evidence]) -> str:
    """What ``text`` states that none of the evidence does, as :func:`unsupported` says it."""
    return next((claim.what for claim in claims(text) if not claim.supported(evidence)), "")


def gist(text: str) -> str:
    """Equal for lines that say the same."""
    return "".join(character for character in text.casefold() if character.isalnum())
