"""Embed texts as vectors with any OpenAI-compatible endpoint."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memorybank.exceptions import LLMUnavailable
from memorybank.language import tokens
from memorybank.llm.error_scrubbing import scrub_errors
from memorybank.llm.openai_compatible import OpenAICompatibleLLM


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One unit-length vector per text, packed as 32-bit floats, and the tokens of the call."""

    vectors: tuple[bytes, ...]
    dims: int
    prompt_tokens: int


class OpenAICompatibleEmbedder(OpenAICompatibleLLM):
    """An embedding client with the options, retries and error translation of the chat client."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed the texts: one vector per text, in order. Raises the same errors as ``LLM.complete``."""
        clean = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        with scrub_errors(clean):
            answer, rows = self._ask_for_rows(clean)
        if len(rows) != len(texts) or len({len(row) for row in rows}) != 1 or not rows[0]:
            raise LLMUnavailable("The endpoint did not answer as an embedding model: not one vector per text.")
        prompt_tokens = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
        cost = prompt_tokens if isinstance(prompt_tokens, int) else sum(map(tokens.count, clean))
        return Embeddings(tuple(map(_unit, rows)), len(rows[0]), cost)

    def _ask_for_rows(self, texts: Sequence[str]) -> tuple[Any, list[list[float]]]:
        try:
            answer: Any = self._client.embeddings.create(model=self.model, input=list(texts), encoding_format="float")
            ordered = sorted(answer.data, key=lambda row: int(row.index))
            return answer, [list(map(float, row.embedding)) for row in ordered]
        except Exception as error:  # as in ``complete``
            self._translate(error)


def _unit(vector: Sequence[float]) -> bytes:
    """Normalise the vector to length 1 and pack it; a zero vector stays zero."""
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return array("f", (value / length for value in vector)).tobytes()
