"""A model that replays recorded answers: the demo shows with it what memory is like with a model, and needs none."""

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

    A prompt's key is :func:`prompt_key`. To a prompt without a recorded answer it says that nothing is worth keeping,
    so that a digest keeps the best notes as they are. ``used`` holds the keys that had an answer, ``missing`` the
    prompts that had none, by key.
    """

    def __init__(self, *, path: str, model: str) -> None:
        self.path, self.model = path, model
        self.used: set[str] = set()
        self.missing: dict[str, Sequence[Message]] = {}

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The recorded answer, with estimated counts of tokens."""
        key = prompt_key(messages)
        answer = read_answers(self.path).get(key)
        if answer is None:
            self.missing[key], answer = messages, "- nothing"
        else:
            self.used.add(key)
        prompt = sum(tokens.count(message["content"]) for message in messages)
        return Completion(answer, prompt, tokens.count(answer), self.model)


def prompt_key(messages: Sequence[Message]) -> str:
    """The sha256 (16 hex digits) of the last message without the nonce of its fences and without its limit of words."""
    text = _WORD_LIMIT.sub("", messages[-1]["content"])
    for nonce in set(_FENCE_NONCE.findall(text)):
        text = text.replace(nonce, "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def read_answers(path: str) -> dict[str, str]:
    """The answers of a file, by the keys of their prompts."""
    rows = map(json.loads, Path(path).read_text(encoding="utf-8").strip().split("\n"))
    return {row["prompt"]: row["answer"] for row in rows}
