"""OpenAI's Responses API: a request contains the whole conversation, or names what the upstream stores of it. Pure."""

import json
from typing import Any

from projects.gateway.messages import (
    GatewayMessage,
    append_text,
    assistant_message,
    call_reference,
    lines_of,
    split_content,
    tool_call,
    tool_message,
    user_message,
)

from .protocol import AnswerReader, Endpoint, JSONObject, Protocol, append_at, token_count

_TEXT_TYPES = ("input_text", "output_text", "text", "refusal")
_END_EVENTS = ("response.completed", "response.incomplete", "response.failed", "error")
_CALL_TYPES = ("function_call", "custom_tool_call")
_RESULT_TYPES = tuple(f"{kind}_output" for kind in _CALL_TYPES)


class ResponsesReader(AnswerReader):
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

    def messages(self) -> list[GatewayMessage]:
        messages = [message for item in self._items.values() if (message := _item_message(item, -1))]
        return [*messages, assistant_message("".join(self._partial), [])] if self._partial else messages

    def _response(self, data: JSONObject, *, whole: bool) -> None:
        self.note_model(data)
        items = [data, *(data.get("output") or [])]
        self.ids = list(dict.fromkeys([*self.ids, *(item["id"] for item in items if isinstance(item.get("id"), str))]))
        if data.get("error"):
            self.note_error(data)
        usage = data.get("usage")
        self.prompt_tokens = token_count(usage, "input_tokens") or self.prompt_tokens
        self.completion_tokens = token_count(usage, "output_tokens") or self.completion_tokens
        if whole and isinstance(data.get("output"), list):
            self.state = str(data.get("status") or "")
        if whole and data.get("output"):
            self._items, self._partial = dict(enumerate(data["output"])), []


class Responses(Protocol):
    """``input`` is a text or a list of items; ``instructions`` is the system prompt."""

    upstream = "openai"
    endpoints = (
        Endpoint("responses", "chat", remembers=True),
        Endpoint("responses/input_tokens"),
        Endpoint("responses/{id}", method="GET", stored=True),
        Endpoint("responses/{id}", method="DELETE", stored=True),
        Endpoint("responses/{id}/cancel", stored=True),
        Endpoint("responses/{id}/input_items", method="GET", stored=True),
        Endpoint("conversations", stored=True),
        *(Endpoint("conversations/{id}", method=method, stored=True) for method in ("GET", "POST", "DELETE")),
        *(Endpoint("conversations/{id}/items", method=method, stored=True) for method in ("GET", "POST")),
        *(Endpoint("conversations/{id}/items/{item}", method=method, stored=True) for method in ("GET", "DELETE")),
    )
    reader = ResponsesReader

    def messages(self, body: JSONObject) -> list[GatewayMessage]:
        items, lines = body["input"], lines_of(self.system(body))
        if isinstance(items, str):
            message = user_message(items, [], -1, lines)
            messages = [message] if message else []
        else:
            read = (_item_message(item, position, lines) for position, item in enumerate(items))
            messages = [message for message in read if message]
        reference = self._continues(body, messages)
        return [GatewayMessage("assistant", reference=reference), *messages] if reference else messages

    def _continues(self, body: JSONObject, messages: list[GatewayMessage]) -> str:
        """The id of what the upstream stores and these messages continue: a response, or a call in a conversation."""
        if previous := body.get("previous_response_id"):
            return str(previous)
        if (conversation := self.conversation(body)) and messages and messages[0].role == "tool":
            return call_reference(conversation, messages[0].recorded["tool_call_id"])
        return ""

    def system(self, body: JSONObject) -> str:
        items = body["input"] if isinstance(body.get("input"), list) else []
        prompts = [split_content(item.get("content"), _TEXT_TYPES)[0] for item in items if _is_system(item)]
        return "\n\n".join(filter(None, [str(body.get("instructions") or ""), *prompts]))

    def with_system(self, body: JSONObject, words: str) -> JSONObject:
        return {**body, "instructions": append_text(body.get("instructions"), words)}

    def with_notes(self, body: JSONObject, position: int, words: str) -> JSONObject:
        if isinstance(body["input"], str):
            return {**body, "input": append_text(body["input"], words)}
        return {**body, "input": append_at(body["input"], position, words, "input_text")}

    def conversation(self, body: JSONObject) -> str:
        value = body.get("conversation")
        return str(value.get("id") or "") if isinstance(value, dict) else str(value or "")

    def stores(self, body: JSONObject) -> bool:
        return body.get("store") is not False

    def continues_stored(self, body: JSONObject) -> bool:
        return bool(body.get("previous_response_id") or self.conversation(body))

    def references(self, body: JSONObject) -> dict[str, str]:
        items = body["input"] if isinstance(body.get("input"), list) else []
        named = {item["id"]: "item_reference" for item in items if _is_reference(item)}
        values = {"previous_response_id": body.get("previous_response_id"), "conversation": self.conversation(body)}
        return named | {str(value): name for name, value in values.items() if value}

    def broken(self, message: str) -> bytes:
        data = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
        return b"event: error\ndata: " + json.dumps(data).encode() + b"\n\n"


def _is_reference(item: Any) -> bool:
    """Whether an item stands for one that the upstream stores. ``type`` may be missing."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return False
    return item.get("type") == "item_reference" or not (item.get("type") or "role" in item)


def _is_system(item: JSONObject) -> bool:
    return item.get("role") in ("system", "developer")


def _item_message(item: JSONObject, position: int, system_lines: frozenset[str] = frozenset()) -> GatewayMessage | None:
    kind, item_id = item.get("type") or ("message" if "role" in item else "item_reference"), str(item.get("id") or "")
    if kind == "message":
        return _message(item, position, system_lines)
    if kind in _CALL_TYPES:
        arguments = item.get("arguments") if kind == "function_call" else item.get("input")
        call = tool_call(item.get("call_id"), item.get("name"), arguments or "")
        return assistant_message("", [call], position, item_id=item_id)
    if kind in _RESULT_TYPES:
        words, others = split_content(item.get("output"), _TEXT_TYPES)
        return tool_message(words, str(item.get("call_id") or ""), others, position)
    if kind == "item_reference" and not item_id.startswith("rs_"):  # rs_ is the prefix of reasoning items
        return GatewayMessage("assistant", position=position, reference=item_id)
    return None  # reasoning, or calls of the upstream's own tools


def _message(item: JSONObject, position: int, system_lines: frozenset[str]) -> GatewayMessage | None:
    words, others = split_content(item.get("content"), _TEXT_TYPES)
    if item.get("role") == "user":
        return user_message(words, others, position, system_lines)
    if item.get("role") != "assistant":
        return None
    return assistant_message(words, [], position, item_id=str(item.get("id") or ""))
