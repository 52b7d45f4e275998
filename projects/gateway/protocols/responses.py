"""OpenAI's Responses API, stateless: each request contains the whole conversation. Pure."""

import json

from projects.gateway.messages import (
    Message,
    append_text,
    assistant_message,
    lines_of,
    split_content,
    tool_call,
    tool_message,
    user_message,
)

from .protocol import Endpoint, JSONObject, Protocol, Reader, UnsupportedRequest, replace_at, token_count

_TEXT_TYPES = ("input_text", "output_text", "text", "refusal")
_END_EVENTS = ("response.completed", "response.incomplete", "response.failed", "error")
_CALL_TYPES = ("function_call", "custom_tool_call")


class ResponsesReader(Reader):
    """Collects items; each arrives complete when it is done."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, JSONObject] = {}
        self._partial: list[str] = []

    def event(self, data: JSONObject) -> None:
        kind = data.get("type", "")
        if kind == "response.output_item.done":
            self._items[data.get("output_index", len(self._items))] = data.get("item") or {}
            self._partial = []
        elif kind == "response.output_text.delta":
            self._partial.append(str(data.get("delta") or ""))
        elif kind == "error":
            self.note_error(data)
        elif isinstance(data.get("response"), dict):
            self._response(data["response"], whole=kind in _END_EVENTS)
        self.done = self.done or kind in _END_EVENTS

    def read_body(self, data: JSONObject) -> None:
        self._response(data, whole=True)
        self.done = True

    def messages(self) -> list[Message]:
        messages = [message for item in self._items.values() if (message := _item_message(item, -1))]
        return [*messages, assistant_message("".join(self._partial), [])] if self._partial else messages

    def _response(self, data: JSONObject, *, whole: bool) -> None:
        self.note_model(data)
        if data.get("error"):
            self.note_error(data)
        usage = data.get("usage") or {}
        self.prompt_tokens = token_count(usage.get("input_tokens")) or self.prompt_tokens
        self.completion_tokens = token_count(usage.get("output_tokens")) or self.completion_tokens
        if whole and data.get("output"):
            self._items, self._partial = dict(enumerate(data["output"])), []


class Responses(Protocol):
    """``input`` is a text or a list of items; ``instructions`` is the system prompt."""

    upstream = "openai"
    endpoints = (Endpoint("responses", "chat", remembers=True),)
    reader = ResponsesReader

    def check(self, body: JSONObject) -> None:
        if body.get("store") is True:
            raise UnsupportedRequest("store: this gateway does not store responses; send store: false.")
        if body.get("previous_response_id"):
            raise UnsupportedRequest(
                "previous_response_id: this gateway does not store responses; send the whole input each time."
            )

    def messages(self, body: JSONObject) -> list[Message]:
        items, lines = body["input"], lines_of(self.system(body))
        if isinstance(items, str):
            message = user_message(items, [], -1, lines)
            return [message] if message else []
        return [message for position, item in enumerate(items) if (message := _item_message(item, position, lines))]

    def system(self, body: JSONObject) -> str:
        items = body["input"] if isinstance(body.get("input"), list) else []
        prompts = [split_content(item.get("content"), _TEXT_TYPES)[0] for item in items if _is_system(item)]
        return "\n\n".join(filter(None, [str(body.get("instructions") or ""), *prompts]))

    def with_system(self, body: JSONObject, words: str) -> JSONObject:
        return {**body, "instructions": append_text(body.get("instructions"), words)}

    def with_notes(self, body: JSONObject, position: int, words: str) -> JSONObject:
        if isinstance(body["input"], str):
            return {**body, "input": append_text(body["input"], words)}
        item = body["input"][position]
        added = {**item, "content": append_text(item.get("content"), words, "input_text")}
        return {**body, "input": replace_at(body["input"], position, added)}

    def conversation(self, body: JSONObject) -> str:
        value = body.get("conversation")
        return str(value.get("id") or "") if isinstance(value, dict) else str(value or "")

    def broken(self, message: str) -> bytes:
        data = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
        return b"event: error\ndata: " + json.dumps(data).encode() + b"\n\n"


def _is_system(item: JSONObject) -> bool:
    return item.get("role") in ("system", "developer")


def _item_message(item: JSONObject, position: int, system_lines: frozenset[str] = frozenset()) -> Message | None:
    kind, item_id = item.get("type") or ("message" if "role" in item else "item_reference"), str(item.get("id") or "")
    if kind == "message":
        return _message(item, position, system_lines)
    if kind in _CALL_TYPES:
        arguments = item.get("arguments") if kind == "function_call" else item.get("input")
        call = tool_call(item.get("call_id"), item.get("name"), arguments or "")
        return assistant_message("", [call], position, item_id=item_id)
    if kind in (f"{call_type}_output" for call_type in _CALL_TYPES):
        words, others = split_content(item.get("output"), _TEXT_TYPES)
        return tool_message(words, str(item.get("call_id") or ""), others, position)
    if kind == "item_reference" and not item_id.startswith("rs_"):  # not that of reasoning
        return Message("assistant", position=position, reference=item_id)
    return None  # reasoning, or calls of the upstream's own tools


def _message(item: JSONObject, position: int, system_lines: frozenset[str]) -> Message | None:
    words, others = split_content(item.get("content"), _TEXT_TYPES)
    if item.get("role") == "user":
        return user_message(words, others, position, system_lines)
    if item.get("role") != "assistant":
        return None
    return assistant_message(words, [], position, item_id=str(item.get("id") or ""))
