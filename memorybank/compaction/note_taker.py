"""Turns → notes, by the chat's own model: in one call, or in parts at the same time and a call that joins them.

Calls come from several threads; rows are written by the thread that opened them.
"""

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from memorybank import conf
from memorybank.compaction import extracts
from memorybank.compaction.checkpoint_notes import Note, fitted, parse, proved
from memorybank.compaction.planning import Budget
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import Turn
from memorybank.exceptions import LLMRejected, Unusable
from memorybank.language import tokens
from memorybank.llm import LLM, Message, prompt_files
from memorybank.models import Bank, LLMCall, ledgered

logger = logging.getLogger(__name__)

PROMPT = "compact"
#: Words of a note, about; and tokens of a word.
WORDS_A_LINE, TOKENS_A_WORD = 16, 4 / 3
#: Parts are told twice over what the notes may hold, all together: joining them unites and drops.
GENEROUS = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """What beside the data a call is shown: the notes of the checkpoint before, and the turns that are kept."""

    previous: Sequence[Note] = ()
    tail: Sequence[SourceItem] = ()


@dataclass(slots=True)
class NoteCalls:
    """The calls of one compaction."""

    bank: Bank
    model: LLM
    budget: Budget
    focus: str
    now: datetime
    calls: list[LLMCall] = field(default_factory=list)

    def whole(self, data: Sequence[SourceItem], beside: Shown) -> list[Note]:
        """Notes of turns that one call can read."""
        return self._noted([str(item) for item in data], beside, self.budget.notes)

    def in_parts(
        self, turns: Sequence[Turn], data: Sequence[SourceItem], told: Callable[[int, int], None]
    ) -> list[Note]:
        """Notes of turns that are too many for one call. A part that fails is extracted, unless the model is down.

        ``told`` how many of how many parts are over, from this thread. Raises what a part failed by if all
        of them did.
        """
        now = conf.current()
        limit = self.budget.read
        size = min(now.chunk_tokens, limit)
        parts = transcript.waves(data, size, width=now.concurrency, limit=limit, encoding=now.encoding)
        room = max(200, GENEROUS * self.budget.notes // len(parts))
        with ThreadPoolExecutor(max_workers=now.concurrency, thread_name_prefix="part") as pool:
            asked = {pool.submit(self._noted, [str(item) for item in part], Shown(), room): part for part in parts}
            try:
                failed = self._await(list(asked), told)
            finally:
                for future in asked:
                    future.cancel()
        if len(failed) == len(parts):
            raise failed[next(iter(asked))]
        return [
            note
            for future, part in asked.items()
            for note in (self._extracted(turns, part, room) if future in failed else future.result())
        ]

    def joined(self, notes: Sequence[Note], beside: Shown) -> list[Note]:
        """The notes of parts as one list; where the model cannot join them, they stand as they are."""
        try:
            return self._joined(notes, beside)
        except LLMRejected as error:
            logger.warning("notes of a chat of bank %s are not joined: %s", self.bank.pk, type(error).__name__)
            return fitted([*beside.previous, *notes], self.budget.notes, conf.current().encoding)

    def _joined(self, notes: Sequence[Note], beside: Shown) -> list[Note]:
        """In as many rounds as it takes for one call to read them all."""
        encoding = conf.current().encoding
        while sum(note.cost(encoding) for note in notes) > self.budget.read:
            groups = _groups(notes, self.budget.read, encoding)
            room = max(200, self.budget.read // 2 // len(groups))
            fewer = [note for group in groups for note in self._noted(list(map(str, group)), Shown(), room, parts=True)]
            if len(fewer) >= len(notes):  # it does not get shorter this way
                notes = fitted(notes, self.budget.read, encoding)
                break
            notes = fewer
        return self._noted(list(map(str, notes)), beside, self.budget.notes, parts=True)

    def _await(
        self, asked: Sequence[Future[list[Note]]], told: Callable[[int, int], None]
    ) -> dict[Future[list[Note]], LLMRejected]:
        """Until all are over; those that failed by a fault of their own. Any other failure is everybody's."""
        failed: dict[Future[list[Note]], LLMRejected] = {}
        for done, future in enumerate(as_completed(asked), start=1):
            try:
                future.result()
            except LLMRejected as error:
                logger.warning("a part of a chat of bank %s is extracted: %s", self.bank.pk, type(error).__name__)
                failed[future] = error
            told(done, len(asked))
        return failed

    def _extracted(self, turns: Sequence[Turn], part: Sequence[SourceItem], room: int) -> list[Note]:
        numbers = sorted({int(item.label) - 1 for item in part})
        return extracts.notes([turns[number] for number in numbers], room, conf.current().encoding)

    def _noted(self, data: Sequence[str], beside: Shown, room: int, *, parts: bool = False) -> list[Note]:
        """The notes of an answer that hold, at most ``room`` tokens of them. Thread-safe; writes no row."""
        encoding = conf.current().encoding
        shown = {
            "checkpoint": [str(note) for note in beside.previous],
            "data": list(data),
            "newest": [str(item) for item in beside.tail],
        }
        messages = self._messages(shown, room, parts=parts)
        entry = ledgered(self.bank.pk, LLMCall.Purpose.COMPACT, self.model.model, self.now, keep=self.calls.append)
        with entry as call:
            answer = self.model.complete(messages, max_tokens=min(room * 2 + 1024, self.budget.answer))
            call.charge(answer)
            notes = proved(parse(answer.text), ["\n".join(lines) for lines in shown.values()])
            if not notes:
                raise Unusable(
                    "No usable line in the answer: none has the form “- KIND: text” and says what was shown."
                )
        return fitted(notes, room, encoding)

    def _messages(self, shown: dict[str, list[str]], room: int, *, parts: bool) -> list[Message]:
        nonce, words = secrets.token_hex(8), int(room / TOKENS_A_WORD)
        caps = {"lines": max(8, words // WORDS_A_LINE), "words": words}
        varying = {"parts": parts, "previous": shown["checkpoint"], "tail": shown["newest"], "focus": self.focus}
        system = prompt_files.render(PROMPT, {**varying, **caps, "nonce": nonce})
        fenced = [
            f"<<<{name} {nonce}\n{chr(10).join(lines)}\n{name} {nonce}>>>" for name, lines in shown.items() if lines
        ]
        reminder = "Answer with at most {lines} lines, {words} words in all, in the form “- KIND: text”.".format(**caps)
        return [
            Message(role="system", content=system),
            Message(role="user", content="\n\n".join([*fenced, reminder])),
        ]


@contextmanager
def note_calls(bank: Bank, model: LLM, budget: Budget, focus: str, now: datetime) -> Iterator[NoteCalls]:
    """The calls of one compaction, on the ledger whatever comes of it."""
    opened = NoteCalls(bank, model, budget, focus, now)
    try:
        yield opened
    finally:
        LLMCall.objects.enter(opened.calls, bank)


def method(model: LLM) -> str:
    """What a checkpoint says it was made with."""
    return f"{model.model} {prompt_files.version(PROMPT)}"[:200]


def _groups(notes: Sequence[Note], room: int, encoding: str) -> list[list[Note]]:
    """Neighbours that one call can read."""
    items = [SourceItem(str(at), str(note), tokens.count(str(note), encoding)) for at, note in enumerate(notes)]
    runs = transcript.chunks(items, room // 2, encoding=encoding)
    return [[notes[int(item.label)] for item in run] for run in runs]
