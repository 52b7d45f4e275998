"""Anthropic's Messages API. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from projects.gateway.messages import (
    GatewayMessage,
    append_text,
    assistant_message,
    lines_of,
    split_content,
    tool_call,
    tool_message,
    user_message,
)

from .protocol import AnswerReader, Endpoint, JSONObject, Protocol, append_at, token_count

#: Thinking blocks are not compared: clients leave them out when they send a message back.
_THINKING_TYPES = ("thinking", "redacted_thinking")


class AnthropicMessagesReader(AnswerReader):
    """Collects blocks by their index; usage comes at the beginning and at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, JSONObject] = {}

    def event(self, data: JSONObject) -> None:
        kind = data.get("type")
        if kind == "message_start":
            self._head(data.get("message") or {})
        elif kind == "content_block_start":
            self._blocks[data.get("index", 0)] = {"encoded": "", **(data.get("content_block") or {})}
        elif kind == "content_block_delta":
            self._delta(data.get("index", 0), data.get("delta") or {})
        elif kind == "message_delta":
            self._usage(data.get("usage") or {})
        elif kind == "error":
            self.note_error(data)
        self.done = self.done or kind == "message_stop"

    def read_body(self, data: JSONObject) -> None:
        self._head(data)
        self._blocks = dict(enumerate(data.get("content") or []))
        self.done = True

    def messages(self) -> list[GatewayMessage]:
        blocks = [_complete_block(block) for block in self._blocks.values()]
        return [_assistant_message(blocks)] if blocks else []

    def _head(self, data: JSONObject) -> None:
        self.note_model(data)
        self._usage(data.get("usage") or {})

    def _usage(self, usage: JSONObject) -> None:
        counts = [token_count(usage, f"{name}input_tokens") for name in ("", "cache_read_", "cache_creation_")]
        if any(count is not None for count in counts):
            self.prompt_tokens = sum(count or 0 for count in counts) or self.prompt_tokens
        self.completion_tokens = token_count(usage, "output_tokens") or self.completion_tokens

    def _delta(self, position: int, delta: JSONObject) -> None:
        block = self._blocks.setdefault(position, {"type": "text", "text": "", "encoded": ""})
        block["text"] = block.get("text", "") + (delta.get("text") or "")
        block["encoded"] += delta.get("partial_json") or ""


def _complete_block(block: JSONObject) -> JSONObject:
    """A block with its whole input: a call's arguments arrive as pieces of JSON text."""
    return {**block, "input": block.get("encoded") or block.get("input") or {}}


class AnthropicMessages(Protocol):
    """``system`` is a field; a user message may also hold tool results."""

    upstream = "anthropic"
    endpoints = (
        Endpoint("messages", "chat", remembers=True),
        # Counts tokens without memory: a client that sees more tokens shortens its chat too early.
        Endpoint("messages/count_tokens"),
    )
    continues_prefill = True
    reader = AnthropicMessagesReader

    def messages(self, body: JSONObject) -> list[GatewayMessage]:
        lines, items = lines_of(self.system(body)), enumerate(body["messages"])
        return [parsed for position, message in items for parsed in _messages(message, position, lines)]

    def system(self, body: JSONObject) -> str:
        return split_content(body.get("system"))[0]

    def with_system(self, body: JSONObject, words: str) -> JSONObject:
        return {**body, "system": append_text(body.get("system"), words)}

    def with_notes(self, body: JSONObject, position: int, words: str) -> JSONObject:
        return {**body, "messages": append_at(body["messages"], position, words)}

    @staticmethod
    def problem(status: int, message: str) -> JSONObject:
        kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large"}
        kind = {**kinds, 429: "rate_limit_error"}.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def broken(self, message: str) -> bytes:
        return b"event: error\ndata: " + json.dumps(self.problem(502, message)).encode() + b"\n\n"


def _messages(message: JSONObject, position: int, system_lines: frozenset[str]) -> Iterator[GatewayMessage]:
    """The messages in one item: a user message may hold tool results, with or without the person's own text.

    A system message among the others is skipped, because a program wrote it.
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    if message.get("role") == "assistant":
        yield _assistant_message(parts)
    if message.get("role") != "user":
        return
    results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
    for part in results:
        words, others = split_content(part.get("content"))
        yield tool_message(words, str(part.get("tool_use_id") or ""), others, position)
    words, others = split_content([part for part in parts if part not in results])
    others = [{name: value for name, value in part.items() if name != "cache_control"} for part in others]
    if parsed := user_message(words, others, position, system_lines):
        yield parsed


def _assistant_message(parts: list[Any]) -> GatewayMessage:
    words, others = split_content(
        [part for part in parts if not (isinstance(part, dict) and part.get("type") in _THINKING_TYPES)]
    )
    calls = [
        tool_call(part.get("id"), part.get("name"), part.get("input"))
        for part in others
        if part.get("type") == "tool_use"
    ]
    return assistant_message(words, calls)
