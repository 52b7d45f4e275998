"""The visible text of a streamed answer, without leading thoughts and surrounding whitespace."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: Tags around a reasoning model's thoughts.
THOUGHT_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


@dataclass(slots=True)
class StreamState:
    """The metadata of a stream: everything except its text."""

    model: str = ""
    usage: Any = None
    finish_reason: str = ""
    refusal: list[str] = field(default_factory=list)


def text_in(chunk: Any, state: StreamState) -> str:
    """The text of one chunk of an OpenAI-compatible stream; stores its metadata in ``state``."""
    state.model, state.usage = chunk.model or state.model, chunk.usage or state.usage
    if not chunk.choices:  # the last chunk has only the usage
        return ""
    choice = chunk.choices[0]
    state.finish_reason = choice.finish_reason or state.finish_reason
    if refusal := getattr(choice.delta, "refusal", None):
        state.refusal.append(refusal)
    return getattr(choice.delta, "content", None) or ""


def visible_text(pieces: Iterable[str]) -> Iterator[str]:
    """``pieces`` without a reasoning model's thoughts; the joined text has no leading or trailing whitespace."""
    buffer, has_text = "", False
    for piece in pieces:
        buffer += piece
        if not has_text:
            buffer = _without_thoughts(buffer)
        if not has_text and _may_be_thoughts(buffer):
            continue
        if ready := buffer.rstrip():
            has_text = True
            yield ready
            buffer = buffer[len(ready) :]
    if not has_text and (rest := buffer.strip()):  # unterminated thoughts are better than no text
        yield rest


def _without_thoughts(text: str) -> str:
    text = text.lstrip()
    for tag, end in THOUGHT_TAGS.items():
        if text.startswith(tag) and end in text:
            return text.partition(end)[2].lstrip()
    return text


def _may_be_thoughts(text: str) -> bool:
    """Whether the text may still turn out to be thoughts."""
    return any(tag.startswith(text) or text.startswith(tag) for tag in THOUGHT_TAGS)
