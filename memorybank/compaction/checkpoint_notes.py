"""The notes of a checkpoint: lines in sections, read from an answer and proved, or extracted without a model."""

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
    """The sections in their order. Progress is what is done, what is being done and what is blocked."""

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
#: Where a line belongs whose section is no section.
ELSE = Section.CONTEXT
#: What gives way first where there is no room, the oldest of it before the newer.
LEAST_FIRST = (
    *(Section.DONE, Section.CONTEXT, Section.PREFERENCE, Section.DOING, Section.NEXT),
    *(Section.BLOCKED, Section.CONSTRAINT, Section.DECISION, Section.GOAL),
)

#: The lines of an answer: no citations, because the chat is their source.
FORM = LineFormat({section: section for section in SECTIONS}, ELSE, cited=False)
MAX_CHARACTERS = 1_000  # of one note

#: Of what extraction tells apart. Progress and what is next it cannot tell.
SECTION_OF = {"decision": "decision", "preference": "preference", "question": "context", "fact": "context"}


@dataclass(frozen=True, slots=True)
class Note:
    """One line of a checkpoint."""

    section: str
    text: str

    def __str__(self) -> str:
        return f"- {self.section}: {self.text}"

    def cost(self, encoding: str) -> int:
        """Its tokens, with those of its place in a list."""
        return tokens.count(self.text, encoding) + 3


def parse(answer: str) -> list[Note]:
    """The lines of an answer that have a bullet, each with its section; prose around them is none."""
    lines = FORM.parse("\n".join(row for row in answer_rows(answer) if not says_nothing(row)))
    return [Note(line.kind, escape(line.text)[:MAX_CHARACTERS]) for line in lines if any(map(str.isalnum, line.text))]


def proved(notes: Iterable[Note], sources: Iterable[str]) -> list[Note]:
    """Those, each once, that state no number, date, name of a file, identifier or address that no source states."""
    evidence = [Evidence.of(source) for source in sources]
    kept: dict[str, Note] = {}
    for note in notes:
        if not first_unsupported(note.text, evidence):
            kept.setdefault(comparison_key(note.text), note)
    return list(kept.values())


def fitted(notes: Sequence[Note], room: int, encoding: str) -> list[Note]:
    """The notes of at most ``room`` tokens: of what matters least, the oldest go."""
    cost = sum(note.cost(encoding) for note in notes)
    going: set[int] = set()
    for section in LEAST_FIRST:
        for at, note in enumerate(notes):
            if cost > room and note.section == section:
                going.add(at)
                cost -= note.cost(encoding)
    return [note for at, note in enumerate(notes) if at not in going]


def by_section(notes: Iterable[Note]) -> dict[str, list[str]]:
    """The texts of each section, for the template that writes a checkpoint."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for note in notes:
        sections[note.section].append(note.text)
    return sections


# --- without a model -----------------------------------------------------------------------------------


def extracted(turns: Sequence[Turn], room: int, encoding: str) -> list[Note]:
    """The sentences worth keeping, at most ``room`` tokens of them."""
    drafts = extraction.extract(turns, encoding=encoding, share=0.4, max_tokens=room)
    return [Note(SECTION_OF[draft.kind], f"{draft.speaker}: {draft.text}") for draft in drafts]


def current(notes: Sequence[Note]) -> list[Note]:
    """The notes without those of a value that a later one says outright is replaced."""
    over: set[int] = set()
    for at, newer in enumerate(notes):
        for replacement in value_changes.replacements(newer.text):
            for before, older in enumerate(notes[:at]):
                decided = older.section == "decision"
                if value_changes.is_replaced(older.text, newer.text, replacement, decided=decided):
                    over.add(before)
    return [note for at, note in enumerate(notes) if at not in over]


def goal(turns: Sequence[Turn]) -> list[Note]:
    """What the chat was begun with, in its first line."""
    said = (u.text for turn in turns for u in turn.utterances if u.role == "user")
    first = next(iter(next(said, "").strip().splitlines()), "")
    return [Note("goal", first[:300])] if first else []
