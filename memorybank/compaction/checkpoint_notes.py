"""The notes of a checkpoint, in sections: parsed from an answer and verified, or extracted without a model."""

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
    """The sections in the order of the checkpoint. Done, doing and blocked describe progress."""

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

#: The format of an answer's lines. They have no citations, because the chat is their only source.
NOTE_FORMAT = LineFormat({section: section for section in SECTIONS}, DEFAULT_SECTION, cited=False)
MAX_NOTE_CHARACTERS = 1_000  # of one note

#: The section for each kind of extracted sentence. Extraction recognises neither progress nor next steps.
SECTION_BY_KIND = {"decision": "decision", "preference": "preference", "question": "context", "fact": "context"}


@dataclass(frozen=True, slots=True)
class CheckpointNote:
    """One line of a checkpoint."""

    section: str
    text: str

    def __str__(self) -> str:
        return f"- {self.section}: {self.text}"

    def cost(self, encoding: str) -> int:
        """The tokens of the text and of its place in a list."""
        return tokens.count(self.text, encoding) + 3


def parse_notes(answer: str) -> list[CheckpointNote]:
    """The bullet lines of an answer, each with its section; prose around them is ignored."""
    lines = NOTE_FORMAT.parse("\n".join(row for row in answer_rows(answer) if not says_nothing(row)))
    return [
        CheckpointNote(line.kind, escape(line.text)[:MAX_NOTE_CHARACTERS])
        for line in lines
        if any(map(str.isalnum, line.text))
    ]


def drop_unsupported(notes: Iterable[CheckpointNote], sources: Iterable[str]) -> list[CheckpointNote]:
    """Keep the notes whose numbers, dates, file names, identifiers and addresses occur in a source, each note once."""
    evidence = [Evidence.of(source) for source in sources]
    kept: dict[str, CheckpointNote] = {}
    for note in notes:
        if not first_unsupported(note.text, evidence):
            kept.setdefault(comparison_key(note.text), note)
    return list(kept.values())


def truncate_to_budget(notes: Sequence[CheckpointNote], max_tokens: int, encoding: str) -> list[CheckpointNote]:
    """At most ``max_tokens`` tokens of notes: drops the least important section's oldest notes first."""
    cost = sum(note.cost(encoding) for note in notes)
    dropped: set[int] = set()
    for section in DROP_ORDER:
        for index, note in enumerate(notes):
            if cost > max_tokens and note.section == section:
                dropped.add(index)
                cost -= note.cost(encoding)
    return [note for index, note in enumerate(notes) if index not in dropped]


def by_section(notes: Iterable[CheckpointNote]) -> dict[str, list[str]]:
    """The texts of each section, for the checkpoint template."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for note in notes:
        sections[note.section].append(note.text)
    return sections


# --- without a model -----------------------------------------------------------------------------------


def extract_notes(turns: Sequence[Turn], max_tokens: int, encoding: str) -> list[CheckpointNote]:
    """Notes from the most important sentences, at most ``max_tokens`` tokens."""
    drafts = extraction.extract(turns, encoding=encoding, share=0.4, max_tokens=max_tokens)
    return [CheckpointNote(SECTION_BY_KIND[draft.kind], f"{draft.speaker}: {draft.text}") for draft in drafts]


def drop_replaced(notes: Sequence[CheckpointNote]) -> list[CheckpointNote]:
    """Drop the notes whose value a later note explicitly replaces."""
    replaced: set[int] = set()
    for index, newer in enumerate(notes):
        for replacement in value_changes.replacements(newer.text):
            for before, older in enumerate(notes[:index]):
                decided = older.section == "decision"
                if value_changes.is_replaced(older.text, newer.text, replacement, decided=decided):
                    replaced.add(before)
    return [note for index, note in enumerate(notes) if index not in replaced]


def goal_note(turns: Sequence[Turn]) -> list[CheckpointNote]:
    """A goal note from the first line of the chat's first message; [] if there is none."""
    messages = (u.text for turn in turns for u in turn.utterances if u.role == "user")
    first = next(iter(next(messages, "").strip().splitlines()), "")
    return [CheckpointNote("goal", first[:300])] if first else []
