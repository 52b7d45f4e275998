"""The interface to a language model: takes messages, and returns one frozen result, at once or streamed."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

#: Tokens of a message in addition to its text, in the chat formats we know (OpenAI's cookbook: 3 or 4).
MESSAGE_TOKENS = 4


class Message(TypedDict):
    """A chat message in the format of OpenAI-compatible endpoints."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer and its token counts, estimated if the provider gave none. ``text`` is never blank."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str


class LLM(ABC):
    """A model at an endpoint. Instances are shared between threads, so they must be thread-safe."""

    model: str
    #: Seconds, including retries, after which no answer is expected any more.
    patience: float = 120.0
    #: Whether to request lines of memory as JSON, with a ``schema`` that the endpoint enforces; None: try it when no
    #: line of an answer is usable.
    json_schema: bool | None = False

    @abstractmethod
    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Answer ``messages`` with at most ``max_tokens`` tokens; with ``schema``, as JSON of that schema.

        Raises only ``LLMUnavailable`` (try later), ``LLMMisconfigured`` (an operator must act) or
        ``LLMRejected`` (this request will always fail).
        """

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generator[str, None, Completion]:
        """Like :meth:`complete`, but streamed: yields the pieces of the text, and returns the completion.

        No piece is blank, and the joined pieces are the text. Raises the errors of :meth:`complete`, also in
        mid-answer. Closing the generator early (``close()``) ends the call; its cost is then unknown.
        """
        completion = self.complete(messages, max_tokens=max_tokens)
        yield completion.text
        return completion

    @property
    def fingerprint(self) -> str:
        """The endpoint's identity (sha256 hex), for the circuit breaker. Changed settings give another fingerprint."""
        return fingerprint(type(self).__qualname__, self.model)

    def load(self) -> None:  # noqa: B027  (most models need no imports)
        """Import the modules that the first call needs. A worker calls this before it forks, to share their memory."""

    def close(self) -> None:  # noqa: B027  (most models hold no connections)
        """Close connections; the next call opens new ones."""


def fingerprint(*parts: str) -> str:
    """sha256 hex of ``parts``, with a separator, so that ("ab", "c") and ("a", "bc") differ."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
