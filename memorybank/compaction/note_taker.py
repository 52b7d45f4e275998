"""Turns → notes, by the chat's own model: in one call, or in parts at the same time and a call that joins them."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from memorybank import conf
from memorybank.compaction.checkpoint_notes import Note, extracted, fitted, parse, proved
from memorybank.compaction.planning import Budget
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import Turn
from memorybank.exceptions import LLMRejected, UnusableAnswer
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, run_parallel

logger = logging.getLogger(__name__)

#: Words of a note, about; and tokens of a word.
WORDS_A_LINE, TOKENS_A_WORD = 16, 4 / 3
#: Parts are told twice over what the notes may hold, all together: joining them unites and drops.
GENEROUS = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """What beside the data a call is shown: the notes of the checkpoint before, and the turns that are kept."""

    previous: Sequence[Note] = ()
    tail: Sequence[SourceItem] = ()


@dataclass(frozen=True, slots=True)
class NoteTaker:
    """What one compaction asks of the model."""

    session: ModelSession
    budget: Budget
    focus: str

    def whole(self, data: Sequence[SourceItem], beside: Shown) -> list[Note]:
        """Notes of turns that one call can read."""
        return self._noted(data, beside, self.budget.notes)

    def in_parts(
        self, turns: Sequence[Turn], data: Sequence[SourceItem], told: Callable[[int, int], object]
    ) -> list[Note]:
        """Notes of turns that are too many for one call. A part that fails is extracted, unless the model is down.

        ``told`` how many of how many parts are over, from this thread. Raises what a part failed by if all
        of them did.
        """
        now = conf.current()
        limit = self.budget.read
        size = min(now.chunk_tokens, limit)
        parts = transcript.even_chunks(data, size, width=now.concurrency, limit=limit, encoding=now.encoding)
        room = max(200, GENEROUS * self.budget.notes // len(parts))
        came = run_parallel([partial(self._noted, part, Shown(), room) for part in parts], told)
        noted = (self._or_extracted(notes, turns, part, room) for notes, part in zip(came, parts, strict=True))
        return [note for notes in noted for note in notes]

    def joined(self, notes: Sequence[Note], beside: Shown) -> list[Note]:
        """The notes of parts as one list; where the model cannot join them, they stand as they are."""
        try:
            return self._joined(notes, beside)
        except LLMRejected as error:
            logger.warning("notes of a chat of bank %s are not joined: %s", self.session.bank.pk, type(error).__name__)
            return fitted([*beside.previous, *notes], self.budget.notes, conf.current().encoding)

    def _joined(self, notes: Sequence[Note], beside: Shown) -> list[Note]:
        """In as many rounds as it takes for one call to read them all."""
        encoding = conf.current().encoding
        while sum(note.cost(encoding) for note in notes) > self.budget.read:
            groups = _groups(notes, self.budget.read, encoding)
            room = max(200, self.budget.read // 2 // len(groups))
            fewer = [note for group in groups for note in self._noted(group, Shown(), room, parts=True)]
            if len(fewer) >= len(notes):  # it does not get shorter this way
                notes = fitted(notes, self.budget.read, encoding)
                break
            notes = fewer
        return self._noted(notes, beside, self.budget.notes, parts=True)

    def _or_extracted(
        self, came: list[Note] | LLMRejected, turns: Sequence[Turn], part: Sequence[SourceItem], room: int
    ) -> list[Note]:
        if isinstance(came, list):
            return came
        logger.warning("a part of a chat of bank %s is extracted: %s", self.session.bank.pk, type(came).__name__)
        numbers = sorted({int(item.label) - 1 for item in part})
        return extracted([turns[number] for number in numbers], room, conf.current().encoding)

    def _noted(self, data: Sequence[object], beside: Shown, room: int, *, parts: bool = False) -> list[Note]:
        """The notes of an answer that hold, at most ``room`` tokens of them. Thread-safe; writes no row."""
        shown = {"checkpoint": beside.previous, "data": data, "newest": beside.tail}
        words = int(room / TOKENS_A_WORD)
        varying = {"parts": parts, "previous": bool(beside.previous), "tail": bool(beside.tail), "focus": self.focus}
        lines, most = max(8, words // WORDS_A_LINE), self.budget.answer
        prompt = PromptSpec("compact", lines, words, varying, cited=False, max_answer_tokens=most)
        sources = ["\n".join(map(str, part)) for part in shown.values()]
        notes = self.session.read(Purpose.COMPACT, prompt, shown, partial(_usable, sources=sources))
        return fitted(notes, room, conf.current().encoding)


def _usable(answer: str, sources: Sequence[str]) -> list[Note]:
    notes = proved(parse(answer), sources)
    if not notes:
        raise UnusableAnswer("No usable line in the answer: none has the form “- KIND: text” and says what was shown.")
    return notes


def _groups(notes: Sequence[Note], room: int, encoding: str) -> list[list[Note]]:
    """Neighbours that one call can read."""
    runs = transcript.chunks(transcript.numbered(map(str, notes), encoding=encoding), room // 2, encoding=encoding)
    return [[notes[int(item.label) - 1] for item in run] for run in runs]
