"""OpenAI's responses, without state: the whole conversation comes with each request. Pure."""

import json

from projects.gateway.messages import Said, assistant, beside, call, person, texts, tool

from .protocol import Body, Protocol, Reader, Unacceptable, number, replaced

_WORDS = ("input_text", "output_text", "text", "refusal")
_ENDS = ("response.completed", "response.incomplete", "response.failed", "error")
_CALLS = ("function_call", "custom_tool_call")


class ResponsesReader(Reader):
    """Items, which are said whole when each is done."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Body] = {}
        self._partial: list[str] = []

    def event(self, data: Body) -> None:
        kind = data.get("type", "")
        if kind == "response.output_item.done":
            self._items[data.get("output_index", len(self._items))] = data.get("item") or {}
            self._partial = []
        elif kind == "response.output_text.delta":
            self._partial.append(str(data.get("delta") or ""))
        elif kind == "error":
            self.note_error(data)
        elif isinstance(data.get("response"), dict):
            self._response(data["response"], whole=kind in _ENDS)
        self.done = self.done or kind in _ENDS

    def whole(self, data: Body) -> None:
        self._response(data, whole=True)
        self.done = True

    def said(self) -> list[Said]:
        found = [said for item in self._items.values() if (said := _said(item, -1))]
        return [*found, assistant("".join(self._partial), [])] if self._partial else found

    def _response(self, data: Body, *, whole: bool) -> None:
        self.note_model(data)
        if data.get("error"):
            self.note_error(data)
        usage = data.get("usage") or {}
        self.prompt_tokens = number(usage.get("input_tokens")) or self.prompt_tokens
        self.completion_tokens = number(usage.get("output_tokens")) or self.completion_tokens
        if whole and data.get("output"):
            self._items, self._partial = dict(enumerate(data["output"])), []


class Responses(Protocol):
    """``input``, a text or a list of items, and ``instructions``."""

    upstream = "openai"
    reader = ResponsesReader

    def check(self, body: Body) -> None:
        if body.get("store") is True:
            raise Unacceptable("store: this gateway keeps no responses for later; send store: false.")
        if body.get("previous_response_id"):
            raise Unacceptable("previous_response_id: this gateway keeps no responses; send the whole input each time.")

    def said(self, body: Body) -> list[Said]:
        given = body["input"]
        if isinstance(given, str):
            one = person(given, [], -1)
            return [one] if one else []
        return [said for at, item in enumerate(given) if (said := _said(item, at))]

    def system(self, body: Body) -> str:
        return str(body.get("instructions") or "")

    def with_system(self, body: Body, words: str) -> Body:
        return {**body, "instructions": beside(body.get("instructions"), words)}

    def with_notes(self, body: Body, at: int, words: str) -> Body:
        if isinstance(body["input"], str):
            return {**body, "input": beside(body["input"], words)}
        item = body["input"][at]
        added = {**item, "content": beside(item.get("content"), words, "input_text")}
        return {**body, "input": replaced(body["input"], at, added)}

    def person(self, body: Body) -> str:
        return str(body.get("user") or body.get("safety_identifier") or "")

    def conversation(self, body: Body) -> str:
        given = body.get("conversation")
        return str(given.get("id") or "") if isinstance(given, dict) else str(given or "")

    def broken(self, message: str) -> bytes:
        data = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
        return b"event: error\ndata: " + json.dumps(data).encode() + b"\n\n"


def _said(item: Body, at: int) -> Said | None:
    kind = item.get("type") or "message"
    if kind == "message":
        return _message(item, at)
    if kind in _CALLS:
        given = item.get("arguments") if kind == "function_call" else item.get("input")
        return assistant("", [call(item.get("call_id"), item.get("name"), given or "")], at)
    if kind in (f"{each}_output" for each in _CALLS):
        words, others = texts(item.get("output"), _WORDS)
        return tool(words, str(item.get("call_id") or ""), others, at)
    return None  # what a model thought, or what the upstream's own tools did


def _message(item: Body, at: int) -> Said | None:
    words, others = texts(item.get("content"), _WORDS)
    if item.get("role") == "user":
        return person(words, others, at)
    return assistant(words, [], at) if item.get("role") == "assistant" else None
