"""Answers in the wire formats of OpenAI and Anthropic, complete or as a stream of events."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Body = dict[str, Any]


class ModelAnswer(NamedTuple):
    """A model's answer: text, or a tool call (name, arguments as JSON). An ``error`` ends its stream."""

    text: str
    call: tuple[str, str] | None = None
    error: str = ""


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _data(data: Body) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _event(data: Body) -> bytes:
    return f"event: {data['type']}\n".encode() + _data(data)


def _counts(body: Body, said: ModelAnswer) -> tuple[int, int]:
    return len(json.dumps(body)) // 4, len(said.text or str(said.call)) // 4 + 1


# --- chat completions -----------------------------------------------------------------------------------


def _completion(body: Body, said: ModelAnswer) -> Body:
    message: Body = {"role": "assistant", "content": said.text or None}
    if said.call:
        message["tool_calls"] = [_tool_call(said.call)]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if said.call else "stop"}
    return {**_head(body), "object": "chat.completion", "choices": [choice], "usage": _usage(body, said)}


def _head(body: Body) -> Body:
    return {"id": "chatcmpl-1", "created": 1, "model": f"{body.get('model')}-served", "vendor_extra": {"kept": True}}


def _tool_call(call: tuple[str, str]) -> Body:
    return {"id": "call_1", "type": "function", "function": {"name": call[0], "arguments": call[1]}}


def _usage(body: Body, said: ModelAnswer) -> Body:
    read, written = _counts(body, said)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _chunks(body: Body, said: ModelAnswer, usage: bool) -> Iterator[bytes]:
    deltas: list[Body] = [{"role": "assistant", "content": ""}, *({"content": word} for word in _words(said.text))]
    if said.call:
        begun = {"index": 0, **_tool_call((said.call[0], ""))}
        deltas += [{"tool_calls": [begun]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in _words(said.call[1])]
    for delta in deltas:
        yield _data({**_chunk(body), "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    reason = "tool_calls" if said.call else "stop"
    yield _data({**_chunk(body), "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if usage and (body.get("stream_options") or {}).get("include_usage"):
        yield _data({**_chunk(body), "choices": [], "usage": _usage(body, said)})
    yield b"data: [DONE]\n\n"


def _chunk(body: Body) -> Body:
    return {**_head(body), "object": "chat.completion.chunk"}


# --- responses --------------------------------------------------------------------------------------------


def _response(body: Body, said: ModelAnswer, *, status: str = "completed") -> Body:
    read, written = _counts(body, said)
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"output": [_item(said)], "usage": usage} if status == "completed" else {"output": [], "usage": None}
    known = {"id": "resp_1", "object": "response", "created_at": 1, "model": body.get("model"), "status": status}
    return {**known, "error": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **whole}


def _item(said: ModelAnswer) -> Body:
    if said.call:
        called = {"call_id": "call_1", "name": said.call[0], "arguments": said.call[1]}
        return {"type": "function_call", "id": "fc_1", "status": "completed", **called}
    part = {"type": "output_text", "text": said.text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def _response_events(body: Body, said: ModelAnswer, usage: bool) -> Iterator[bytes]:
    for number, data in enumerate(_response_data(body, said, usage)):
        yield _event({**data, "sequence_number": number})


def _response_data(body: Body, said: ModelAnswer, usage: bool) -> Iterator[Body]:
    item, at = _item(said), {"output_index": 0, "item_id": _item(said)["id"]}
    yield {"type": "response.created", "response": _response(body, said, status="in_progress")}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}}
    if said.call:
        yield {"type": "response.function_call_arguments.delta", **at, "delta": said.call[1]}
        yield {"type": "response.function_call_arguments.done", **at, "arguments": said.call[1], "name": said.call[0]}
    for word in _words(said.text):
        yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": word, "logprobs": []}
    if said.text:
        yield {"type": "response.output_text.done", **at, "content_index": 0, "text": said.text, "logprobs": []}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    done = _response(body, said)
    yield {"type": "response.completed", "response": done if usage else {**done, "usage": None}}


# --- Anthropic --------------------------------------------------------------------------------------------


def _blocks(said: ModelAnswer) -> list[Body]:
    text: list[Body] = [{"type": "text", "text": said.text}] if said.text else []
    if said.call:
        text.append({"type": "tool_use", "id": "toolu_1", "name": said.call[0], "input": json.loads(said.call[1])})
    return text


def _message(body: Body, said: ModelAnswer) -> Body:
    read, written = _counts(body, said)
    known = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None}
    reason = "tool_use" if said.call else "end_turn"
    usage = {"input_tokens": read, "output_tokens": written}
    return {**known, "content": _blocks(said), "stop_reason": reason, "usage": usage}


def _message_events(body: Body, said: ModelAnswer, usage: bool) -> Iterator[bytes]:
    message = _message(body, said)
    counts = message["usage"] if usage else {}
    started = {**message, "content": [], "stop_reason": None, "usage": {**counts, "output_tokens": 0} if usage else {}}
    yield _event({"type": "message_start", "message": started})
    for index, block in enumerate(_blocks(said)):
        empty = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        yield _event({"type": "content_block_start", "index": index, "content_block": empty})
        yield _event({"type": "ping"})
        for delta in _block_deltas(block):
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": counts.get("output_tokens", 0)}})
    yield _event({"type": "message_stop"})


def _block_deltas(block: Body) -> Iterator[Body]:
    if block["type"] == "text":
        for word in _words(block["text"]):
            yield {"type": "text_delta", "text": word}
    else:
        for part in _words(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": part}


# --- other endpoints ----------------------------------------------------------------------------------------


def _models(body: Body, said: ModelAnswer) -> Body:
    listed = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in ("small", "large")]
    return {"object": "list", "data": listed}


def _model(body: Body, said: ModelAnswer) -> Body:
    return {"id": "small", "object": "model", "created": 1, "owned_by": "tests"}


def _embeddings(body: Body, said: ModelAnswer) -> Body:
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": index, "embedding": [0.5, len(text)]} for index, text in enumerate(texts)]
    usage = {"prompt_tokens": 7, "total_tokens": 7}
    return {"object": "list", "model": body.get("model"), "data": data, "usage": usage}


def _count(body: Body, said: ModelAnswer) -> Body:
    return {"input_tokens": len(json.dumps([body.get("system"), body["messages"]]))}


STREAMS: dict[str, Callable[[Body, ModelAnswer, bool], Iterator[bytes]]] = {
    "/v1/chat/completions": _chunks,
    "/v1/responses": _response_events,
    "/v1/messages": _message_events,
}
WHOLE: dict[str, Callable[[Body, ModelAnswer], Body]] = {
    "/v1/chat/completions": _completion,
    "/v1/responses": _response,
    "/v1/messages": _message,
    "/v1/messages/count_tokens": _count,
    "/v1/embeddings": _embeddings,
    "/v1/models": _models,
    "/v1/models/small": _model,
}


def error_event(path: str, message: str) -> bytes:
    """The event that ends a stream with an error."""
    error = {"message": message, "type": "test_error", "code": "x1"}
    if path == "/v1/chat/completions":
        return _data({"error": error})
    return _event({**error, "type": "error"} if path == "/v1/responses" else {"type": "error", "error": error})
