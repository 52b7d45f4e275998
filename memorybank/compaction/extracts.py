"""Notes of a chat without a model: sentences as they were said, in the sections that their signs tell."""

from collections.abc import Sequence

from memorybank.compaction.checkpoint_notes import Note
from memorybank.core import extraction, value_changes
from memorybank.core.turns import Turn

#: Of what extraction tells apart. Progress and what is next it cannot tell.
SECTION_OF = {"decision": "decision", "preference": "preference", "question": "context", "fact": "context"}


def notes(turns: Sequence[Turn], room: int, encoding: str) -> list[Note]:
    """The sentences worth keeping, at most ``room`` tokens of them."""
    drafts = extraction.extract(turns, encoding=encoding, share=0.4, most=room)
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
