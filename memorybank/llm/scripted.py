"""A model for tests that gives scripted answers and records the messages (like simonw/llm's mock)."""

import re
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from threading import Lock
from typing import Any

from memorybank.language import tokens
from memorybank.llm.base import LLM, Completion, Message

Answer = str | BaseException | Callable[[Sequence[Message]], str]

_WORD = re.compile(r"\S+\s*")


def nothing(messages: Sequence[Message]) -> str:
    """The default answer: nothing is worth keeping."""
    return "- nothing"


class ScriptedLLM(LLM):
    """Answers from a queue, and with ``answer`` once the queue is empty. Thread-safe; never sleeps.

    ``history`` holds the messages of every call in order, including calls that raised. Unknown keyword arguments
    (BASE_URL, TIMEOUT, …) are accepted, so that a test can replace only the backend of a configured alias.
    """

    def __init__(self, *, model: str = "scripted", answer: Answer = nothing, **ignored: object) -> None:
        self.model = model
        self.answer = answer
        self.history: list[list[Message]] = []
        self._queue: deque[Answer] = deque()
        self._lock = Lock()

    def enqueue(self, *answers: Answer) -> None:
        """Queue one answer per call: a text, an exception to raise, or a function of the messages."""
        with self._lock:
            self._queue.extend(answers)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The next scripted answer. ``max_tokens`` is ignored, so that a test gets exactly its own answer."""
        answer = self._next(messages)
        if isinstance(answer, BaseException):
            raise answer
        return self._completion(messages, answer if isinstance(answer, str) else answer(messages))

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generator[str, None, Completion]:
        """The next scripted answer, streamed word by word."""
        completion = self.complete(messages, max_tokens=max_tokens)
        yield from _WORD.findall(completion.text)
        return completion

    def _next(self, messages: Sequence[Message]) -> Answer:
        with self._lock:
            self.history.append(list(messages))
            return self._queue.popleft() if self._queue else self.answer

    def _completion(self, messages: Sequence[Message], text: str) -> Completion:
        prompt = sum(tokens.count(message["content"]) for message in messages)
        return Completion(text, prompt, tokens.count(text), self.model)
