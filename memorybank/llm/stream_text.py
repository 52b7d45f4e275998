"""The visible text of a streamed answer: without the thoughts before it and the blanks around it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: Tags around a reasoning model's thoughts.
THOUGHT_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


@dataclass(slots=True)
class StreamState:
    """Everything a stream contains besides its text."""

    model: str = ""
    usage: Any = None
    finish_reason: str = ""
    refusal: list[str] = field(default_factory=list)


def text_in(chunk: Any, state: StreamState) -> str:
    """The text of one chunk of an OpenAI-compatible stream; everything else in it is kept in ``state``."""
    state.model, state.usage = chunk.model or state.model, chunk.usage or state.usage
    if not chunk.choices:  # the last chunk, which has the usage
        return ""
    choice = chunk.choices[0]
    state.finish_reason = choice.finish_reason or state.finish_reason
    if refusal := getattr(choice.delta, "refusal", None):
        state.refusal.append(refusal)
    return getattr(choice.delta, "content", None) or ""


def visible_text(pieces: Iterable[str]) -> Iterator[str]:
    """``pieces`` without a reasoning model's thoughts. Joined they neither begin nor end with a blank."""
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
    if not has_text and (rest := buffer.strip()):  # thoughts without an end are better than nothing
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
