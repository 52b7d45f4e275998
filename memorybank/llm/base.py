"""The interface to a language model: messages in, one frozen result out, whole or streamed."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

#: Tokens of a message beside its text, in the chat formats we know (OpenAI's cookbook: 3 or 4).
MESSAGE_TOKENS = 4


class Message(TypedDict):
    """One chat message, as every OpenAI-compatible endpoint takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer and what it cost. ``text`` is never blank; counts are estimates if the provider gave none."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    model: str


class LLM(ABC):
    """A model behind some endpoint. Instances are shared between threads."""

    model: str
    #: Seconds after which no answer is expected any more, including retries.
    patience: float = 120.0
    #: Whether lines of memory are asked for as JSON, with the ``schema`` that the endpoint keeps the answer to.
    json_schema: bool = False

    @abstractmethod
    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Answer ``messages`` with at most ``max_tokens`` tokens; in JSON of ``schema``, if there is one.

        Raises ``LLMUnavailable`` (try later), ``LLMMisconfigured`` (an operator must act) or
        ``LLMRejected`` (this request will always fail), and nothing else.
        """

    def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Generator[str, None, Completion]:
        """Answer like :meth:`complete`, streamed: yields the pieces of the text, returns the completion.

        No piece is blank, and joined they are the text. Raises what :meth:`complete` raises, also in mid-answer.
        Closing the generator early (``close()``) ends the call; its cost is unknown then.
        """
        completion = self.complete(messages, max_tokens=max_tokens)
        yield completion.text
        return completion

    @property
    def fingerprint(self) -> str:
        """Identifies the endpoint (sha256 hex): back-off applies to all of it, and changed settings make a new one."""
        return fingerprint(type(self).__qualname__, self.model)

    def load(self) -> None:  # noqa: B027  (most models need nothing)
        """Import what the first call needs. A worker does so before it forks, so that its processes share it."""

    def close(self) -> None:  # noqa: B027  (most models hold nothing)
        """Close connections; the next call opens new ones."""


def fingerprint(*parts: str) -> str:
    """sha256 hex of ``parts``; no two different lists of parts collide by running together."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
