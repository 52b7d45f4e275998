"""Anthropic's messages. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from projects.gateway.messages import Said, assistant, beside, call, person, texts, tool

from .protocol import Body, Protocol, Reader, number, replaced

#: An id longer than this was made by a program.
LONGEST_NAME = 64
#: What a model thinks is no part of what it says: clients leave it out when they send the message again.
_THOUGHT = ("thinking", "redacted_thinking")


class AnthropicMessagesReader(Reader):
    """Blocks by their index; usage at the beginning and at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, Body] = {}

    def event(self, data: Body) -> None:
        kind = data.get("type")
        if kind == "message_start":
            self._head(data.get("message") or {})
        elif kind == "content_block_start":
            self._blocks[data.get("index", 0)] = {"spelt": "", **(data.get("content_block") or {})}
        elif kind == "content_block_delta":
            self._delta(data.get("index", 0), data.get("delta") or {})
        elif kind == "message_delta":
            self._usage(data.get("usage") or {})
        elif kind == "error":
            self.note_error(data)
        self.done = self.done or kind == "message_stop"

    def whole(self, data: Body) -> None:
        self._head(data)
        self._blocks = dict(enumerate(data.get("content") or []))
        self.done = True

    def said(self) -> list[Said]:
        blocks = [_finished(block) for block in self._blocks.values()]
        return [_assistant(blocks)] if blocks else []

    def _head(self, data: Body) -> None:
        self.note_model(data)
        self._usage(data.get("usage") or {})

    def _usage(self, usage: Body) -> None:
        read = [number(usage.get(f"{name}input_tokens")) for name in ("", "cache_read_", "cache_creation_")]
        if any(each is not None for each in read):
            self.prompt_tokens = sum(each or 0 for each in read) or self.prompt_tokens
        self.completion_tokens = number(usage.get("output_tokens")) or self.completion_tokens

    def _delta(self, at: int, delta: Body) -> None:
        block = self._blocks.setdefault(at, {"type": "text", "text": "", "spelt": ""})
        block["text"] = block.get("text", "") + (delta.get("text") or "")
        block["spelt"] += delta.get("partial_json") or ""


def _finished(block: Body) -> Body:
    """A block as it is when it is whole: a call's arguments came spelt, piece by piece."""
    return {**block, "input": block.get("spelt") or block.get("input") or {}}


class AnthropicMessages(Protocol):
    """``system`` apart, ``messages`` with a person's and tools' words in one."""

    upstream = "anthropic"
    reader = AnthropicMessagesReader

    def said(self, body: Body) -> list[Said]:
        return [said for at, message in enumerate(body["messages"]) for said in _said(message, at)]

    def system(self, body: Body) -> str:
        return texts(body.get("system"))[0]

    def with_system(self, body: Body, words: str) -> Body:
        return {**body, "system": beside(body.get("system"), words)}

    def with_notes(self, body: Body, at: int, words: str) -> Body:
        message = body["messages"][at]
        added = {**message, "content": beside(message.get("content"), words)}
        return {**body, "messages": replaced(body["messages"], at, added)}

    def person(self, body: Body) -> str:
        """``metadata.user_id``, unless it is one of those that a program makes anew for each session."""
        metadata = body.get("metadata")
        name = str(metadata.get("user_id") or "") if isinstance(metadata, dict) else ""
        return name if len(name) <= LONGEST_NAME else ""

    @staticmethod
    def problem(status: int, message: str) -> Body:
        kind = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large"}
        named = {**kind, 429: "rate_limit_error"}.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": named, "message": message}}

    def broken(self, message: str) -> bytes:
        return b"event: error\ndata: " + json.dumps(self.problem(502, message)).encode() + b"\n\n"


def _said(message: Body, at: int) -> Iterator[Said]:
    """A user's message may hold what tools answered, with or without a word of hers."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    if message.get("role") == "assistant":
        yield _assistant(parts)
        return
    results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
    for part in results:
        words, others = texts(part.get("content"))
        yield tool(words, str(part.get("tool_use_id") or ""), others, at)
    words, others = texts([part for part in parts if part not in results])
    others = [{name: value for name, value in part.items() if name != "cache_control"} for part in others]
    if said := person(words, others, at):
        yield said


def _assistant(parts: list[Any]) -> Said:
    words, others = texts([part for part in parts if not (isinstance(part, dict) and part.get("type") in _THOUGHT)])
    calls = [
        call(each.get("id"), each.get("name"), each.get("input")) for each in others if each.get("type") == "tool_use"
    ]
    return assistant(words, calls)
