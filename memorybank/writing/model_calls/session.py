"""One accepted answer of the summary model: prompt, call, validation, ledger, circuit breaker.

Calls may come from several threads; rows are written only by the thread that opened the session.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime

from memorybank import conf, llm
from memorybank.core.transcript import SourceItem, fence
from memorybank.core.validation import Line, accept
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMUnavailable, Unusable
from memorybank.llm import prompt_files
from memorybank.llm.base import LLM, Completion, Message
from memorybank.models import Bank, Chat, LLMCall, LLMEndpoint, ledgered
from memorybank.writing.model_calls import budget_cap
from memorybank.writing.model_calls import gate as slot
from memorybank.writing.model_calls.gate import Slot

Purpose = LLMCall.Purpose


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file and what varies in it. ``lines`` and ``words`` are the caps it names."""

    name: str
    lines: int
    words: int
    context: Mapping[str, str | bool] = field(default_factory=dict)

    def messages(self, shown: Sequence[SourceItem]) -> list[Message]:
        """The system message, and the data between fences of a fresh nonce with the caps said again."""
        nonce = secrets.token_hex(8)
        caps = {"lines": self.lines, "words": self.words}
        system = prompt_files.render(self.name, {**self.context, **caps, "nonce": nonce})
        reminder = (
            f"Answer with at most {self.lines} lines, {self.words} words in all, in the form “- KIND: text [1,3]”."
        )
        return [
            Message(role="system", content=system),
            Message(role="user", content=f"{fence(shown, nonce)}\n\n{reminder}"),
        ]


@dataclass(slots=True)
class Session:
    """The model calls of one piece of work on one bank."""

    bank: Bank
    model: LLM
    now: datetime
    slot: Slot | None = None
    calls: list[LLMCall] = field(default_factory=list)

    def ask(self, purpose: Purpose, prompt: Prompt, shown: Sequence[SourceItem]) -> list[Line]:
        """Lines that passed validation against ``shown``; [] only if the model said there is nothing.

        Raises :class:`LLMRejected` for an answer without one valid line. Thread-safe; writes no row.
        """
        messages = prompt.messages(shown)
        entry = ledgered(self.bank.pk, purpose, self.model.model, self.now, keep=self.calls.append)
        with self.turn(), entry as call:  # waiting is not the model's time
            answer = self.model.complete(messages, max_tokens=_room(prompt))
            call.charge(answer)
            return _usable(answer, prompt, shown)

    def turn(self) -> AbstractContextManager[None]:
        """The worker's place at the model; held around several calls, nobody else's come in between."""
        return self.slot.held(self) if self.slot else nullcontext()

    def method(self, prompt: str) -> str:
        """What an entry says it was made with."""
        return f"{self.model.model} {prompt_files.version(prompt)}"[:200]


class BackingOff(LLMUnavailable):
    """No call was made, because an earlier one failed."""


def _usable(answer: Completion, prompt: Prompt, shown: Sequence[SourceItem]) -> list[Line]:
    sources: dict[str, str] = {}
    for item in shown:  # the parts of a split turn share a label
        sources[item.label] = f"{sources[item.label]}{item.text}" if item.label in sources else item.text
    accepted = accept(answer.text, sources)
    if not accepted.lines and not accepted.nothing:
        why = accepted.rejected[0][1] if accepted.rejected else "no line has the form “- KIND: text [1,3]”"
        raise Unusable(f"No usable line in the answer: {why}")
    return list(accepted.lines[: prompt.lines])


def _room(prompt: Prompt) -> int:
    """Answer tokens allowed: generous, because a cut line is a lost line."""
    return prompt.words * 4 + prompt.lines * 16 + 1024


def outage(now: datetime) -> LLMEndpoint | None:
    """The configured endpoint if it backs off at ``now``: no sense in handing out work."""
    model = llm.get("summary")
    if model is None:
        return None
    return LLMEndpoint.objects.filter(fingerprint=model.fingerprint, retry_at__gt=now).first()


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
    opened = Session(bank, model, now, slot.current())
    try:
        yield opened
    except LLMError as error:
        _learn(endpoint, error, now)
        raise
    finally:
        LLMCall.objects.enter(opened.calls, bank)
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
