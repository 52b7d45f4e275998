"""One accepted answer of a model: prompt, call, validation, ledger; for memory also circuit breaker and budget.

Calls may come from several threads; rows are written only by the thread that opened the session.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from memorybank import conf, llm, prompts
from memorybank.clock import PRESENT, at_present
from memorybank.core.transcript import SourceItem, fence
from memorybank.core.validation import Line, accept
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMUnavailable, Unusable
from memorybank.llm.base import LLM, Message
from memorybank.model_calls import budget_cap
from memorybank.model_calls import gate as slot
from memorybank.model_calls.gate import Slot
from memorybank.models import Bank, Chat, LLMCall, LLMEndpoint, ledgered
from memorybank.prompts.templates import render

Purpose = LLMCall.Purpose
T = TypeVar("T")

#: Closes every prompt: the caps and the form of a line again, after the data.
REMINDER = "reminder"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file and what varies in it. ``lines`` and ``words`` are the caps it names; ``cited`` if lines cite.

    ``most_tokens`` bounds the answer where the window is short; 0: nothing does.
    """

    name: str
    lines: int
    words: int
    context: Mapping[str, object] = field(default_factory=dict)
    cited: bool = True
    most_tokens: int = 0

    def messages(self, shown: Mapping[str, Sequence[object]]) -> list[Message]:
        """The system message, and what is shown between fences of a fresh nonce, by name, with the caps said again."""
        nonce = secrets.token_hex(8)
        varying = {**self.context, "lines": self.lines, "words": self.words, "cited": self.cited, "nonce": nonce}
        fenced = [fence(lines, nonce, name) for name, lines in shown.items() if lines]
        return [
            Message(role="system", content=render(self.name, varying)),
            Message(role="user", content="\n\n".join([*fenced, render(REMINDER, varying)])),
        ]

    def version(self) -> str:
        """Names every word of it that stands in a file."""
        return prompts.version(self.name, REMINDER)

    def max_tokens(self) -> int:
        """Answer tokens allowed: generous, because a cut line is a lost line."""
        generous = self.words * 4 + self.lines * 16 + 1024
        return min(generous, self.most_tokens or generous)


@dataclass(slots=True)
class Session:
    """The model calls of one piece of work on one bank. ``versions`` are those of the prompts that were answered."""

    bank: Bank
    model: LLM
    now: datetime
    slot: Slot | None = None
    calls: list[LLMCall] = field(default_factory=list)
    versions: dict[str, None] = field(default_factory=dict)

    def ask(self, purpose: Purpose, prompt: Prompt, shown: Sequence[SourceItem]) -> list[Line]:
        """Lines that passed validation against ``shown``; [] only if the model said there is nothing.

        Raises :class:`LLMRejected` for an answer without one valid line. Thread-safe; writes no row.
        """
        return self.read(purpose, prompt, {"data": shown}, lambda answer: _usable(answer, prompt, shown))

    def read(
        self, purpose: Purpose, prompt: Prompt, shown: Mapping[str, Sequence[Any]], proved: Callable[[str], list[T]]
    ) -> list[T]:
        """What ``proved`` makes of the answer; it raises :class:`Unusable` if that is nothing. As :meth:`ask`."""
        messages = prompt.messages(shown)
        entry = ledgered(self.bank.pk, purpose, self.model.model, self.now, keep=self.calls.append)
        with self.turn(), entry as call:  # waiting is not the model's time
            answer = self.model.complete(messages, max_tokens=prompt.max_tokens())
            call.charge(answer)
            lines = proved(answer.text)
            self.versions[prompt.version()] = None
            return lines

    def turn(self) -> AbstractContextManager[None]:
        """The worker's place at the model; held around several calls, nobody else's come in between."""
        return self.slot.held(self) if self.slot else nullcontext()

    def method(self) -> str:
        """What is said of what it made: the model, and every prompt that shaped it."""
        return " ".join([self.model.model, *self.versions])[:200]


def side_by_side(
    parts: Sequence[Callable[[], list[T]]], over: Callable[[int, int], object] = lambda done, of: None
) -> list[list[T] | LLMRejected]:
    """What came of each part, in their order: a useless answer, tolerated while one is good, is its error.

    An outage is not tolerated: calls not yet begun are dropped, and it is raised. ``over`` is told from this thread how
    many of how many parts are over.
    """
    with ThreadPoolExecutor(max_workers=conf.current().concurrency, thread_name_prefix="part") as pool:
        asked = [pool.submit(part) for part in parts]
        try:
            for done, future in enumerate(as_completed(asked), start=1):
                _outcome(future)
                over(done, len(asked))
        finally:
            for future in asked:
                future.cancel()
    came = [_outcome(future) for future in asked]
    useless = [outcome for outcome in came if isinstance(outcome, LLMRejected)]
    if useless and len(useless) == len(came):
        raise useless[0]
    return came


def _outcome(future: Future[list[T]]) -> list[T] | LLMRejected:
    try:
        return future.result()
    except LLMRejected as error:
        return error


class BackingOff(LLMUnavailable):
    """No call was made, because an earlier one failed."""


def _usable(answer: str, prompt: Prompt, shown: Sequence[SourceItem]) -> list[Line]:
    sources: dict[str, str] = {}
    for item in shown:  # the parts of a split turn share a label
        sources[item.label] = f"{sources[item.label]}{item.text}" if item.label in sources else item.text
    accepted = accept(answer, sources)
    if not accepted.lines and not accepted.nothing:
        why = accepted.rejected[0][1] if accepted.rejected else "no line has the form “- KIND: text [1,3]”"
        raise Unusable(f"No usable line in the answer: {why}")
    return list(accepted.lines[: prompt.lines])


@at_present
def outage(*, now: datetime = PRESENT) -> LLMEndpoint | None:
    """The summary model's endpoint while it backs off, with ``retry_at`` and ``last_error``; else None."""
    model = llm.get("summary")
    if model is None:
        return None
    return LLMEndpoint.objects.filter(fingerprint=model.fingerprint, retry_at__gt=now).first()


@contextmanager
def chat_session(bank: Bank, model: LLM, now: datetime) -> Iterator[Session]:
    """A session with a chat's own model: on the ledger whatever comes of it, without memory's cap and breaker."""
    opened = Session(bank, model, now, slot.current())
    try:
        yield opened
    finally:
        LLMCall.objects.enter(opened.calls, bank)


@contextmanager
def session(bank: Bank, now: datetime) -> Iterator[Session | None]:
    """A session with the summary model, or None when none is configured or the monthly cap is reached.

    Raises :class:`LLMUnavailable` while the endpoint backs off. On leaving, the ledger is written
    and the endpoint learns how it went, for everybody. A refused or useless answer is the chat's
    own affair, however many chats get one: it makes nobody else wait.
    """
    model = llm.get("summary")
    if model is None or budget_cap.stops(bank, now):
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
    """What a failure says about the endpoint."""
    if isinstance(error, LLMUnavailable):
        endpoint.failed(str(error), now, error.retry_after)
    elif isinstance(error, LLMMisconfigured):
        endpoint.failed(str(error), now, conf.current().backoff_max_seconds)
    else:
        endpoint.answered_unusably(now)
