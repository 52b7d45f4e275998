"""The notes of a checkpoint: lines in sections, parsed from an answer and verified, or extracted without a model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memorybank.core import extraction, value_changes
from memorybank.core.turns import Turn
from memorybank.core.validation import (
    Evidence,
    LineFormat,
    answer_rows,
    comparison_key,
    escape,
    first_unsupported,
    says_nothing,
)
from memorybank.language import tokens


class Section(StrEnum):
    """The sections in their order. Done, doing and blocked are progress."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    PREFERENCE = "preference"
    DONE = "done"
    DOING = "doing"
    BLOCKED = "blocked"
    DECISION = "decision"
    NEXT = "next"
    CONTEXT = "context"


SECTIONS = tuple(Section)
#: The section of a line whose own section is unknown.
DEFAULT_SECTION = Section.CONTEXT
#: Sections in the order in which their notes are dropped for lack of space, the oldest note first.
DROP_ORDER = (
    *(Section.DONE, Section.CONTEXT, Section.PREFERENCE, Section.DOING, Section.NEXT),
    *(Section.BLOCKED, Section.CONSTRAINT, Section.DECISION, Section.GOAL),
)

#: The lines of an answer. They have no citations, because the chat is their source.
NOTE_FORMAT = LineFormat({section: section for section in SECTIONS}, DEFAULT_SECTION, cited=False)
MAX_NOTE_CHARACTERS = 1_000  # of one note

#: Section of each kind that extraction distinguishes. It recognises neither progress nor next steps.
SECTION_BY_KIND = {"decision": "decision", "preference": "preference", "question": "context", "fact": "context"}


@dataclass(frozen=True, slots=True)
class Note:
    """One line of a checkpoint."""

    section: str
    text: str

    def __str__(self) -> str:
        return f"- {self.section}: {self.text}"

    def cost(self, encoding: str) -> int:
        """The tokens of the text and of its place in a list."""
        return tokens.count(self.text, encoding) + 3


def parse_notes(answer: str) -> list[Note]:
    """The bullet lines of an answer, each with its section; prose around them is ignored."""
    lines = NOTE_FORMAT.parse("\n".join(row for row in answer_rows(answer) if not says_nothing(row)))
    return [
        Note(line.kind, escape(line.text)[:MAX_NOTE_CHARACTERS]) for line in lines if any(map(str.isalnum, line.text))
    ]


def drop_unsupported(notes: Iterable[Note], sources: Iterable[str]) -> list[Note]:
    """The distinct notes whose numbers, dates, file names, identifiers and addresses all occur in a source."""
    evidence = [Evidence.of(source) for source in sources]
    kept: dict[str, Note] = {}
    for note in notes:
        if not first_unsupported(note.text, evidence):
            kept.setdefault(comparison_key(note.text), note)
    return list(kept.values())


def truncate_to_budget(notes: Sequence[Note], max_tokens: int, encoding: str) -> list[Note]:
    """At most ``max_tokens`` tokens of notes: the oldest of the least important sections are dropped."""
    cost = sum(note.cost(encoding) for note in notes)
    dropped: set[int] = set()
    for section in DROP_ORDER:
        for index, note in enumerate(notes):
            if cost > max_tokens and note.section == section:
                dropped.add(index)
                cost -= note.cost(encoding)
    return [note for index, note in enumerate(notes) if index not in dropped]


def by_section(notes: Iterable[Note]) -> dict[str, list[str]]:
    """The texts of each section, for the checkpoint template."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for note in notes:
        sections[note.section].append(note.text)
    return sections


# --- without a model -----------------------------------------------------------------------------------


def extract_notes(turns: Sequence[Turn], max_tokens: int, encoding: str) -> list[Note]:
    """The sentences worth keeping, at most ``max_tokens`` tokens of them."""
    drafts = extraction.extract(turns, encoding=encoding, share=0.4, max_tokens=max_tokens)
    return [Note(SECTION_BY_KIND[draft.kind], f"{draft.speaker}: {draft.text}") for draft in drafts]


def drop_replaced(notes: Sequence[Note]) -> list[Note]:
    """The notes without those whose value a later note explicitly replaces."""
    replaced: set[int] = set()
    for index, newer in enumerate(notes):
        for replacement in value_changes.replacements(newer.text):
            for before, older in enumerate(notes[:index]):
                decided = older.section == "decision"
                if value_changes.is_replaced(older.text, newer.text, replacement, decided=decided):
                    replaced.add(before)
    return [note for index, note in enumerate(notes) if index not in replaced]


def goal_note(turns: Sequence[Turn]) -> list[Note]:
    """The first line of the chat's first message, as its goal."""
    messages = (u.text for turn in turns for u in turn.utterances if u.role == "user")
    first = next(iter(next(messages, "").strip().splitlines()), "")
    return [Note("goal", first[:300])] if first else []
