"""Pieces of a streamed answer as people read them: without the thoughts before it and the blanks around it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


@dataclass(slots=True)
class Heard:
    """What a stream said beside its text."""

    model: str = ""
    usage: Any = None
    finish_reason: str = ""
    refusal: list[str] = field(default_factory=list)


def text_in(chunk: Any, heard: Heard) -> str:
    """The text of one chunk of an OpenAI-compatible stream, and into ``heard`` what else it says."""
    heard.model, heard.usage = chunk.model or heard.model, chunk.usage or heard.usage
    if not chunk.choices:  # the last one, which says what all cost
        return ""
    choice = chunk.choices[0]
    heard.finish_reason = choice.finish_reason or heard.finish_reason
    if refusal := getattr(choice.delta, "refusal", None):
        heard.refusal.append(refusal)
    return getattr(choice.delta, "content", None) or ""


def spoken(pieces: Iterable[str]) -> Iterator[str]:
    """``pieces`` without what a reasoning model thinks first. Joined they neither begin nor end with a blank."""
    held, begun = "", False
    for piece in pieces:
        held += piece
        if not begun:
            held = _without_thoughts(held)
        if not begun and _undecided(held):
            continue
        if ready := held.rstrip():
            begun = True
            yield ready
            held = held[len(ready) :]
    if not begun and (rest := held.strip()):  # thoughts that never ended: what there is
        yield rest


def _without_thoughts(text: str) -> str:
    text = text.lstrip()
    for tag, end in TAGS.items():
        if text.startswith(tag) and end in text:
            return text.partition(end)[2].lstrip()
    return text


def _undecided(text: str) -> bool:
    """Whether these may still be thoughts."""
    return any(tag.startswith(text) or text.startswith(tag) for tag in TAGS)
