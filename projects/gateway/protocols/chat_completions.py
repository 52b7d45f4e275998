"""OpenAI's chat completions. Pure."""

from collections.abc import Iterator
from typing import Any

from projects.gateway.messages import Said, assistant, beside, call, person, texts, tool

from .protocol import Body, Protocol, Reader, number, replaced

_SYSTEM = ("system", "developer")


class ChatCompletionsReader(Reader):
    """Deltas of the first choice; others are versions that the client chooses from."""

    def __init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finished = False

    @property
    def complete(self) -> bool:
        return self.done or self._finished  # not every server says [DONE]

    def event(self, data: Body) -> None:
        if data.get("type") == "[DONE]":
            self.done = True
            return
        if data.get("error"):
            self.note_error(data)
            return
        self._head(data)
        for choice in _first(data):
            self._delta(choice.get("delta") or {})
            self._finished = self._finished or bool(choice.get("finish_reason"))

    def whole(self, data: Body) -> None:
        self._head(data)
        for choice in _first(data):
            self._delta(choice.get("message") or {})
        self.done = True

    def said(self) -> list[Said]:
        calls = [call(each["id"], each["name"], each["arguments"]) for each in self._calls.values()]
        return [assistant("".join(self._text), calls)] if self._text or calls else []

    def _head(self, data: Body) -> None:
        self.note_model(data)
        usage = data.get("usage") or {}
        self.prompt_tokens = number(usage.get("prompt_tokens")) or self.prompt_tokens
        self.completion_tokens = number(usage.get("completion_tokens")) or self.completion_tokens

    def _delta(self, delta: Body) -> None:
        content = delta.get("content") or delta.get("refusal")
        if content:
            self._text.append(texts(content)[0])
        for at, each in enumerate(delta.get("tool_calls") or []):
            known = self._calls.setdefault(each.get("index", at), {"id": "", "name": "", "arguments": ""})
            function = each.get("function") or {}
            known["id"] = known["id"] or str(each.get("id") or "")
            known["name"] += function.get("name") or ""
            known["arguments"] += function.get("arguments") or ""


def _first(data: Body) -> Iterator[Body]:
    for choice in data.get("choices") or []:
        if not choice.get("index"):
            yield choice


class ChatCompletions(Protocol):
    """``messages``, of which the system's are one or more."""

    upstream = "openai"
    reader = ChatCompletionsReader

    def said(self, body: Body) -> list[Said]:
        return [said for at, message in enumerate(body["messages"]) if (said := _said(message, at))]

    def system(self, body: Body) -> str:
        return "\n\n".join(texts(each.get("content"))[0] for each in body["messages"] if each.get("role") in _SYSTEM)

    def with_system(self, body: Body, words: str) -> Body:
        messages = body["messages"]
        for at, message in enumerate(messages):
            if message.get("role") in _SYSTEM:
                added = {**message, "content": beside(message.get("content"), words)}
                return {**body, "messages": replaced(messages, at, added)}
        return {**body, "messages": [{"role": "system", "content": words}, *messages]}

    def with_notes(self, body: Body, at: int, words: str) -> Body:
        message = body["messages"][at]
        added = {**message, "content": beside(message.get("content"), words)}
        return {**body, "messages": replaced(body["messages"], at, added)}


def _said(message: Body, at: int) -> Said | None:
    role, (words, others) = message.get("role"), texts(message.get("content"), ("text", "refusal"))
    if role == "user":
        return person(words, others, at)
    if role == "assistant":
        calls = [_call(each) for each in message.get("tool_calls") or []]
        return assistant(words or message.get("refusal") or "", calls, at)
    if role == "tool":
        return tool(words, str(message.get("tool_call_id") or ""), others, at)
    return None


def _call(given: Body) -> dict[str, Any]:
    function = given.get("function") or {}
    return call(given.get("id"), function.get("name"), function.get("arguments") or "")
