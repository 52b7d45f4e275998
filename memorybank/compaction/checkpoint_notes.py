"""The notes of a checkpoint: lines in sections, as a model answers them, proved against what it was shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memorybank.core.validation.claims import claims
from memorybank.core.validation.evidence import Evidence
from memorybank.language import tokens
from memorybank.safety.escaping import escape


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

BULLETS, COLONS, MARKS = "-*+•–—· ", ":：", "*_`[]( )【】"
NOTHING = "nothing"
MAX_CHARACTERS = 1_000  # of one note


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
    found = []
    for raw in answer.splitlines():
        row = " ".join(raw.split())
        body = row.lstrip(BULLETS)
        if body != row and body.strip(MARKS + ".").casefold() != NOTHING:
            found.append(_note(body))
    return [note for note in found if note.text]


def _note(body: str) -> Note:
    at = next((at for at, character in enumerate(body[:40]) if character in COLONS), -1)
    section = body[:at].strip(MARKS).casefold() if at > 0 else ""
    known = section in SECTIONS
    return Note(section if known else ELSE, escape(body[at + 1 :] if known else body)[:MAX_CHARACTERS])


def proved(notes: Iterable[Note], sources: Iterable[str]) -> list[Note]:
    """Those, each once, that state no number, date, name of a file, identifier or address that no source states."""
    evidence = [Evidence.of(source) for source in sources]
    kept: dict[str, Note] = {}
    for note in notes:
        if all(claim.supported(evidence) for claim in claims(note.text)):
            kept.setdefault("".join(filter(str.isalnum, note.text.casefold())), note)
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
