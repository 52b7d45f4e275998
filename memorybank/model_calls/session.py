"""A model session: prompt, call, validation and ledger; for the summary model also circuit breaker and budget cap.

Calls may come from several threads; rows are written only by the thread that opened the session.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from memorybank import conf, llm, prompts
from memorybank.clock import PRESENT, at_present
from memorybank.core.transcript import SourceItem, even_chunks, fence
from memorybank.core.validation import NOT_A_LINE, AcceptedLines, ParsedLine, accept, comparison_key
from memorybank.core.validation.json_answers import lines_schema, rows_of_json
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMUnavailable, UnusableAnswer
from memorybank.language.terms import word_count
from memorybank.llm.base import LLM, Message
from memorybank.model_calls import budget_cap
from memorybank.model_calls import gate as gates
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, Chat, LLMCall, LLMEndpoint, ledgered
from memorybank.models.ledger import ENDPOINT
from memorybank.prompts.templates import render

Purpose = LLMCall.Purpose
T = TypeVar("T")

#: The prompt file that ends every prompt: it repeats the caps and the line format after the data.
REMINDER_PROMPT = "reminder"
#: An answer may have this multiple of the requested words; its last lines, the least important ones, are cut off.
MAX_EXCESS = 1.25


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt file, its variables, and the limits that it states to the model.

    ``words`` and ``lines`` limit the answer (0 lines: any number). ``cited`` says whether lines must have citations.
    ``max_answer_tokens`` is a further limit for short context windows; 0 means no limit.
    """

    name: str
    words: int
    lines: int = 0
    context: Mapping[str, object] = field(default_factory=dict)
    cited: bool = True
    max_answer_tokens: int = 0

    def messages(self, shown: Mapping[str, Sequence[object]], *, in_json: bool = False) -> list[Message]:
        """The system message, and a user message with ``shown`` between fences with a new nonce, and the reminder."""
        nonce = secrets.token_hex(8)
        caps = {"lines": self.lines, "words": self.words, "cited": self.cited}
        variables = {**self.context, **caps, "nonce": nonce, "in_json": in_json}
        fenced = [fence(lines, nonce, name) for name, lines in shown.items() if lines]
        return [
            Message(role="system", content=render(self.name, variables)),
            Message(role="user", content="\n\n".join([*fenced, render(REMINDER_PROMPT, variables)])),
        ]

    def version(self) -> str:
        """The version of the prompt: a hash of its file and the reminder."""
        return prompts.version(self.name, REMINDER_PROMPT)

    def max_tokens(self) -> int:
        """The token limit for the answer: generous, because a truncated line is lost."""
        generous = self.words * 6 + self.lines * 16 + 1024
        return min(generous, self.max_answer_tokens or generous)


@dataclass(slots=True)
class ModelSession:
    """The model calls of one piece of work on one bank.

    ``versions`` are the versions of the answered prompts, ``dropped`` the rejected lines with the reasons, ``left_out``
    the labels that the model said it left out.
    """

    bank: Bank
    model: LLM
    now: datetime
    gate: ModelGate | None = None
    calls: list[LLMCall] = field(default_factory=list)
    versions: dict[str, None] = field(default_factory=dict)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)

    def ask(
        self,
        purpose: Purpose,
        prompt: PromptSpec,
        shown: Sequence[SourceItem],
        *,
        before: Sequence[SourceItem] = (),
    ) -> list[ParsedLine]:
        """The answer's lines, validated against ``shown``; [] only if the model said that nothing is worth keeping.

        Lines may cite ``before``, too, which is noted already; those that cite nothing else are left out. If lines are
        rejected, the model is asked once more, with the reasons; lines rejected again are added to ``dropped``. Raises
        :class:`LLMRejected` for an answer without any valid line. Thread-safe; writes no row.
        """

        cited, data = [*before, *shown], {"before": before, "data": shown}
        answer, in_json = self._first_answer(purpose, prompt, data, cited)
        lines, dropped = answer.lines, _wrong_lines(answer)
        if dropped:
            again = replace(prompt, context={**prompt.context, "again": True})
            reasons = [f"{row} ({why})" for row, why in dropped]
            try:
                second = self._answer(purpose, again, {**data, "dropped": reasons}, cited, in_json)
                known = {comparison_key(line.text) for line in lines}
                lines += tuple(line for line in second.lines if comparison_key(line.text) not in known)
                dropped = _wrong_lines(second)
            except UnusableAnswer:
                pass
        new = {item.label for item in shown}
        lines = tuple(line for line in lines if not new.isdisjoint(line.labels))
        kept = _within(lines, prompt.words)
        self.dropped += [*dropped, *((line.text, TOO_MANY_WORDS) for line in lines[len(kept) :])]
        self.left_out |= answer.left_out
        return kept

    def _first_answer(
        self, purpose: Purpose, prompt: PromptSpec, data: Mapping[str, Sequence[Any]], cited: Sequence[SourceItem]
    ) -> tuple[AcceptedLines, bool]:
        """The answer, and whether it was asked for as JSON.

        If nobody said whether the endpoint keeps to a schema, one is tried when no line is usable, and the model's
        later answers are asked for in the form that served.
        """
        model = self.model
        try:
            return self._answer(purpose, prompt, data, cited, bool(model.json_schema)), bool(model.json_schema)
        except UnusableAnswer as useless:
            if model.json_schema is not None:
                raise
            try:
                answer = self._answer(purpose, prompt, data, cited, True)
            except LLMRejected:  # the endpoint has no schemas, or ignores them
                model.json_schema = False
                raise useless from None
            model.json_schema = True
            return answer, True

    def _answer(
        self,
        purpose: Purpose,
        prompt: PromptSpec,
        data: Mapping[str, Sequence[Any]],
        cited: Sequence[SourceItem],
        in_json: bool,
    ) -> AcceptedLines:
        def proved(text: str) -> list[AcceptedLines]:
            return [_accepted(rows_of_json(text) if in_json else text, cited)]

        schema = lines_schema([item.label for item in cited]) if in_json else None
        [answer] = self.read(purpose, prompt, data, proved, schema)
        return answer

    def read(
        self,
        purpose: Purpose,
        prompt: PromptSpec,
        shown: Mapping[str, Sequence[Any]],
        proved: Callable[[str], list[T]],
        schema: Mapping[str, Any] | None = None,
    ) -> list[T]:
        """One call, whose answer is parsed and validated by ``proved``.

        ``proved`` raises :class:`UnusableAnswer` if nothing is usable. ``schema`` is the JSON schema that the endpoint
        has to enforce, if any. Thread-safe; writes no row.
        """
        messages = prompt.messages(shown, in_json=schema is not None)
        entry = ledgered(self.bank.pk, purpose, self.model.model, self.now, keep=self.calls.append)
        with self.hold_gate(), entry as call:  # waiting does not count as the model's time
            answer = self.model.complete(messages, max_tokens=prompt.max_tokens(), schema=schema)
            call.charge(answer)
            lines = proved(answer.text)
            self.versions[prompt.version()] = None
            return lines

    def hold_gate(self) -> AbstractContextManager[None]:
        """Hold the worker's model gate. Around several calls, it keeps other work's calls from coming between."""
        return self.gate.hold(self) if self.gate else nullcontext()

    def method(self) -> str:
        """The method to store with the results of this session: the model's name and the prompt versions."""
        return " ".join([self.model.model, *self.versions])[:200]


def parallel_parts(items: Iterable[SourceItem], limit: int) -> list[list[SourceItem]]:
    """The items in parts of at most ``limit`` tokens, each for one of the calls that :func:`run_parallel` makes."""
    settings = conf.current()
    size = min(settings.chunk_tokens, limit)
    return even_chunks(items, size, width=settings.concurrency, limit=limit, encoding=settings.encoding)


def run_parallel(
    parts: Sequence[Callable[[], list[T]]], over: Callable[[int, int], object] = lambda done, total: None
) -> list[list[T] | LLMRejected]:
    """Run the parts in parallel and return their results; for an unusable answer, the result is its error.

    If all answers are unusable, raises the first error. Raises the error of an outage, too, and cancels the calls that
    have not begun. ``over`` is called in this thread with the numbers of finished parts and of all parts.
    """
    with ThreadPoolExecutor(max_workers=conf.current().concurrency, thread_name_prefix="part") as pool:
        futures = [pool.submit(copy_context().run, part) for part in parts]  # the context includes the entered bank
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                _outcome(future)
                over(done, len(futures))
        finally:
            for future in futures:
                future.cancel()
    outcomes = [_outcome(future) for future in futures]
    errors = [outcome for outcome in outcomes if isinstance(outcome, LLMRejected)]
    if errors and len(errors) == len(outcomes):
        raise errors[0]
    return outcomes


def _outcome(future: Future[list[T]]) -> list[T] | LLMRejected:
    try:
        return future.result()
    except LLMRejected as error:
        return error


class BackingOff(LLMUnavailable):
    """Raised without a call, because an earlier call failed and the endpoint backs off."""


def _accepted(answer: str, shown: Sequence[SourceItem]) -> AcceptedLines:
    sources: dict[str, str] = {}
    for item in shown:  # the parts of a split turn share a label
        sources[item.label] = f"{sources[item.label]}{item.text}" if item.label in sources else item.text
    accepted = accept(answer, sources)
    if not accepted.lines and not accepted.nothing:
        why = accepted.rejected[0][1] if accepted.rejected else "no line has the form “- KIND: text [1,3]”"
        raise UnusableAnswer(f"No usable line in the answer: {why}")
    return accepted


def _wrong_lines(answer: AcceptedLines) -> list[tuple[str, str]]:
    """The rejected rows that the model can correct, without prose around the list."""
    return [(row, why) for row, why in answer.rejected if why != NOT_A_LINE]


#: The reason for a line that is dropped without a second try.
TOO_MANY_WORDS = "after the words asked for"


def _within(lines: Sequence[ParsedLine], words: int) -> list[ParsedLine]:
    """The first, most important lines, up to MAX_EXCESS times ``words`` words; the first line is always kept."""
    left = words * MAX_EXCESS
    kept: list[ParsedLine] = []
    for line in lines:
        left -= word_count(line.text)
        if left < 0 and kept:
            break
        kept.append(line)
    return kept


@at_present
def current_outage(*, now: datetime = PRESENT) -> LLMEndpoint | None:
    """The summary model's endpoint while it backs off, with ``retry_at`` and ``last_error``; else None."""
    model = llm.get("summary")
    if model is None:
        return None
    endpoint = ENDPOINT.first(model.fingerprint)
    return endpoint if endpoint and endpoint.retry_at and endpoint.retry_at > now else None


@contextmanager
def chat_session(bank: Bank, model: LLM, now: datetime) -> Iterator[ModelSession]:
    """A session without budget cap and circuit breaker, such as with a chat's own model. Always writes the ledger."""
    opened = ModelSession(bank, model, now, gates.current_gate())
    try:
        yield opened
    finally:
        LLMCall.objects.record(opened.calls, bank)
        budget_cap.notify_near(bank, opened.calls, now)


@contextmanager
def session(bank: Bank, now: datetime) -> Iterator[ModelSession | None]:
    """A session with the summary model, or None when none is configured or the monthly cap is reached.

    Raises :class:`LLMUnavailable` while the endpoint backs off. On exit, writes the ledger and updates the endpoint's
    state for all workers. A refused or unusable answer affects only its chat: other work goes on, however many chats
    get such answers.
    """
    model = llm.get("summary")
    if model is None or budget_cap.stop_at_cap(bank, now):
        yield None
        return
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        raise BackingOff("The model is backing off after a failure.")
    try:
        with chat_session(bank, model, now) as opened:
            yield opened
    except LLMError as error:
        _learn(endpoint, error, now)
        raise
    if any(call.outcome == LLMCall.Outcome.OK for call in opened.calls):
        since, outage = endpoint.recovered(now)
        if since:
            Chat.objects.revive(since, afresh=outage)


def _learn(endpoint: LLMEndpoint, error: LLMError, now: datetime) -> None:
    """Update the endpoint's state after a failed call."""
    if isinstance(error, LLMUnavailable):
        endpoint.failed(str(error), now, error.retry_after)
    elif isinstance(error, LLMMisconfigured):
        endpoint.failed(str(error), now, conf.current().backoff_max_seconds)
    else:
        endpoint.answered_unusably(now)
