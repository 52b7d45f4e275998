"""OpenAI's Chat Completions API. Pure."""

from __future__ import annotations

from typing import Any

from projects.gateway.messages import (
    GatewayMessage,
    assistant_message,
    lines_of,
    split_content,
    tool_call,
    tool_message,
    user_message,
)

from .protocol import AnswerReader, Endpoint, JSONObject, Protocol, append_at, token_count

_SYSTEM_ROLES = ("system", "developer")


class ChatCompletionsReader(AnswerReader):
    """Collects deltas by choice. The first is the answer; the others are alternatives for the client."""

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[int, _Choice] = {}
        self._finished = False

    @property
    def complete(self) -> bool:
        return self.done or self._finished  # not every server sends [DONE]

    def event(self, data: JSONObject) -> None:
        if data.get("type") == "[DONE]":
            self.done = True
            return
        if data.get("error"):
            self.note_error(data)
            return
        self._head(data)
        for choice in data.get("choices") or []:
            self._choice(choice).add(choice.get("delta") or {})
            self._finished = self._finished or bool(choice.get("finish_reason") and not choice.get("index"))

    def read_body(self, data: JSONObject) -> None:
        self._head(data)
        for choice in data.get("choices") or []:
            self._choice(choice).add(choice.get("message") or {})
        self.done = True

    def messages(self) -> list[GatewayMessage]:
        return self._choices[0].messages() if 0 in self._choices else []

    def alternatives(self) -> list[list[GatewayMessage]]:
        return [choice.messages() for index, choice in self._choices.items() if index]

    def _head(self, data: JSONObject) -> None:
        self.note_model(data)
        usage = data.get("usage")
        self.prompt_tokens = token_count(usage, "prompt_tokens") or self.prompt_tokens
        self.completion_tokens = token_count(usage, "completion_tokens") or self.completion_tokens

    def _choice(self, choice: JSONObject) -> _Choice:
        return self._choices.setdefault(choice.get("index") or 0, _Choice())


class _Choice:
    """One choice: its text and its tool calls."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, delta: JSONObject) -> None:
        """Add a delta, or a whole message."""
        content = delta.get("content") or delta.get("refusal")
        if content:
            self._text.append(split_content(content)[0])
        for position, part in enumerate(delta.get("tool_calls") or []):
            call = self._calls.setdefault(part.get("index", position), {"id": "", "name": "", "arguments": ""})
            function = part.get("function") or {}
            call["id"] = call["id"] or str(part.get("id") or "")
            call["name"] += function.get("name") or ""
            call["arguments"] += function.get("arguments") or ""

    def messages(self) -> list[GatewayMessage]:
        """Its message so far."""
        calls = [tool_call(call["id"], call["name"], call["arguments"]) for call in self._calls.values()]
        return [assistant_message("".join(self._text), calls)] if self._text or calls else []


class ChatCompletions(Protocol):
    """``messages`` holds everything, including any number of system prompts."""

    upstream = "openai"
    endpoints = (
        Endpoint("chat/completions", "chat", remembers=True),
        Endpoint("embeddings", "embedding"),
        # Only endpoints that store nothing at the upstream: another project that uses the same upstream key could read
        # it. That excludes files, batches and fine-tuning.
        Endpoint("completions", optional=True),
        Endpoint("moderations", optional=True),
        Endpoint("images/generations", optional=True),
        Endpoint("audio/speech", optional=True),
    )
    reader = ChatCompletionsReader

    def messages(self, body: JSONObject) -> list[GatewayMessage]:
        lines, items = lines_of(self.system(body)), enumerate(body["messages"])
        return [parsed for position, message in items if (parsed := _message(message, position, lines))]

    def system(self, body: JSONObject) -> str:
        return "\n\n".join(
            split_content(message.get("content"))[0]
            for message in body["messages"]
            if message.get("role") in _SYSTEM_ROLES
        )

    def with_system(self, body: JSONObject, words: str) -> JSONObject:
        messages = body["messages"]
        for position, message in enumerate(messages):
            if message.get("role") in _SYSTEM_ROLES:
                return {**body, "messages": append_at(messages, position, words)}
        return {**body, "messages": [{"role": "system", "content": words}, *messages]}

    def with_notes(self, body: JSONObject, position: int, words: str) -> JSONObject:
        return {**body, "messages": append_at(body["messages"], position, words)}


def _message(message: JSONObject, position: int, system_lines: frozenset[str]) -> GatewayMessage | None:
    role, (words, others) = message.get("role"), split_content(message.get("content"), ("text", "refusal"))
    if role == "user":
        return user_message(words, others, position, system_lines)
    if role == "assistant":
        calls = [_tool_call(call) for call in message.get("tool_calls") or []]
        return assistant_message(words or message.get("refusal") or "", calls, position)
    if role in ("tool", "function"):
        return tool_message(words, str(message.get("tool_call_id") or ""), others, position)
    return None


def _tool_call(call: JSONObject) -> dict[str, Any]:
    function = call.get("function") or {}
    return tool_call(call.get("id"), function.get("name"), function.get("arguments") or "")
