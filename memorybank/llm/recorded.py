"""A model that replays recorded answers, so that the demo can show memory with a model without needing one."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from memorybank.language import tokens
from memorybank.llm.base import LLM, Completion, Message

_FENCE_NONCE = re.compile(r"<<<\w+ ([0-9a-f]{16})")
_WORD_LIMIT = re.compile(r"at most \d+ words")


class RecordedLLM(LLM):
    """Answers each prompt from a file of JSON Lines ``{"prompt": key, "answer": text}``.

    A prompt's key is :func:`prompt_key`. The answer to all other prompts is that nothing is worth keeping,
    so that a digest keeps the best notes unchanged. ``used`` holds the keys of the prompts that had an answer;
    ``missing`` maps the keys of the others to their messages.
    """

    def __init__(self, *, path: str, model: str) -> None:
        self.path, self.model = path, model
        self.used: set[str] = set()
        self.missing: dict[str, Sequence[Message]] = {}

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The recorded answer; token counts are estimates."""
        key = prompt_key(messages)
        answer = read_answers(self.path).get(key)
        if answer is None:
            self.missing[key], answer = messages, "- nothing"
        else:
            self.used.add(key)
        return _completion(messages, answer, self.model)


class RecordedAnswer(LLM):
    """Answers every prompt with one recorded text; token counts are estimates."""

    def __init__(self, *, answer: str, model: str) -> None:
        self.answer, self.model = answer, model

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        return _completion(messages, self.answer, self.model)


def _completion(messages: Sequence[Message], answer: str, model: str) -> Completion:
    """The answer, with estimated token counts."""
    prompt = sum(tokens.count(message["content"]) for message in messages)
    return Completion(answer, prompt, tokens.count(answer), model)


def prompt_key(messages: Sequence[Message]) -> str:
    """The sha256 (16 hex digits) of the last message, without the fences' nonces and the word limit, which vary."""
    text = _WORD_LIMIT.sub("", messages[-1]["content"])
    for nonce in set(_FENCE_NONCE.findall(text)):
        text = text.replace(nonce, "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def read_answers(path: str) -> dict[str, str]:
    """The answers of a file, by the keys of their prompts."""
    rows = map(json.loads, Path(path).read_text(encoding="utf-8").strip().split("\n"))
    return {row["prompt"]: row["answer"] for row in rows}
