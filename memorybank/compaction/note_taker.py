"""Take notes of turns with the chat's own model: in one call, or in parallel parts that a further call merges."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from memorybank import conf
from memorybank.compaction.checkpoint_notes import (
    CheckpointNote,
    drop_unsupported,
    extract_notes,
    parse_notes,
    truncate_to_budget,
)
from memorybank.compaction.planning import CompactionBudget
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import Turn
from memorybank.exceptions import LLMRejected, UnusableAnswer
from memorybank.model_calls.session import ModelSession, PromptSpec, Purpose, parallel_parts, run_parallel

logger = logging.getLogger(__name__)

#: Estimated sizes, from which the limits in the prompt are computed.
WORDS_PER_NOTE, TOKENS_PER_NOTE_WORD = 16, 4 / 3
#: The parts' notes together may use this multiple of the notes' budget, because joining merges and drops lines.
PARTS_BUDGET_FACTOR = 2


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The context of a call besides the data: the notes of the previous checkpoint, and the kept turns."""

    previous: Sequence[CheckpointNote] = ()
    tail: Sequence[SourceItem] = ()


@dataclass(frozen=True, slots=True)
class NoteTaker:
    """The model calls of one compaction."""

    session: ModelSession
    budget: CompactionBudget
    focus: str

    def take_all(self, data: Sequence[SourceItem], context: PromptContext) -> list[CheckpointNote]:
        """Take notes in one call; the turns must fit ``budget.read``."""
        return self._ask_for_notes(data, context, self.budget.notes)

    def take_in_parts(
        self, turns: Sequence[Turn], data: Sequence[SourceItem], on_part: Callable[[int, int], object]
    ) -> list[CheckpointNote]:
        """Take notes in parallel parts. If the answer for a part is unusable, its notes are extracted without a model.

        ``on_part`` is called in this thread with the numbers of finished parts and of all parts. Raises the error of an
        outage, and the first error if all parts failed.
        """
        parts = parallel_parts(data, self.budget.read)
        max_tokens = max(200, PARTS_BUDGET_FACTOR * self.budget.notes // len(parts))
        calls = [partial(self._ask_for_notes, part, PromptContext(), max_tokens) for part in parts]
        results = zip(run_parallel(calls, on_part), parts, strict=True)
        return [note for result, part in results for note in self._or_extracted(result, turns, part, max_tokens)]

    def join(self, notes: Sequence[CheckpointNote], context: PromptContext) -> list[CheckpointNote]:
        """Merge the notes of all parts into one list; if the model's answer is unusable, truncate them instead."""
        try:
            return self._join(notes, context)
        except LLMRejected as error:
            logger.warning("notes of a chat of bank %s are not joined: %s", self.session.bank.pk, type(error).__name__)
            return truncate_to_budget([*context.previous, *notes], self.budget.notes, conf.current().encoding)

    def _join(self, notes: Sequence[CheckpointNote], context: PromptContext) -> list[CheckpointNote]:
        """Merge the notes in groups, repeatedly, until one call can read all of them."""
        encoding = conf.current().encoding
        while sum(note.cost(encoding) for note in notes) > self.budget.read:
            groups = _split_to_fit(notes, self.budget.read, encoding)
            max_tokens = max(200, self.budget.read // 2 // len(groups))
            joined = (self._ask_for_notes(group, PromptContext(), max_tokens, parts=True) for group in groups)
            fewer = [note for group in joined for note in group]
            if len(fewer) >= len(notes):  # joining does not shorten them
                notes = truncate_to_budget(notes, self.budget.read, encoding)
                break
            notes = fewer
        return self._ask_for_notes(notes, context, self.budget.notes, parts=True)

    def _or_extracted(
        self,
        result: list[CheckpointNote] | LLMRejected,
        turns: Sequence[Turn],
        part: Sequence[SourceItem],
        max_tokens: int,
    ) -> list[CheckpointNote]:
        if isinstance(result, list):
            return result
        logger.warning("a part of a chat of bank %s is extracted: %s", self.session.bank.pk, type(result).__name__)
        numbers = sorted({int(item.label) - 1 for item in part})
        return extract_notes([turns[number] for number in numbers], max_tokens, conf.current().encoding)

    def _ask_for_notes(
        self, data: Sequence[object], context: PromptContext, max_tokens: int, *, parts: bool = False
    ) -> list[CheckpointNote]:
        """One answer's notes that the sources support, at most ``max_tokens`` tokens. Thread-safe; writes no row."""
        shown = {"checkpoint": context.previous, "data": data, "newest": context.tail}
        words = int(max_tokens / TOKENS_PER_NOTE_WORD)
        varying = {"parts": parts, "previous": bool(context.previous), "tail": bool(context.tail), "focus": self.focus}
        lines, max_answer_tokens = max(8, words // WORDS_PER_NOTE), self.budget.answer
        prompt = PromptSpec("compact", words, lines, varying, cited=False, max_answer_tokens=max_answer_tokens)
        sources = ["\n".join(map(str, part)) for part in shown.values()]
        notes = self.session.read(Purpose.COMPACT, prompt, shown, partial(_parse_supported, sources=sources))
        return truncate_to_budget(notes, max_tokens, conf.current().encoding)


def _parse_supported(answer: str, sources: Sequence[str]) -> list[CheckpointNote]:
    notes = drop_unsupported(parse_notes(answer), sources)
    if not notes:
        raise UnusableAnswer("No usable line in the answer: none has the form “- KIND: text” and says what was shown.")
    return notes


def _split_to_fit(notes: Sequence[CheckpointNote], max_tokens: int, encoding: str) -> list[list[CheckpointNote]]:
    """Groups of neighbouring notes that one call can read."""
    runs = transcript.chunks(
        transcript.numbered(map(str, notes), encoding=encoding), max_tokens // 2, encoding=encoding
    )
    return [[notes[int(item.label) - 1] for item in run] for run in runs]
