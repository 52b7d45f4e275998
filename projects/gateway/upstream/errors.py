"""Remove request text, keys and masked values from an upstream's errors before these are stored or forwarded. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any

from memorybank import services

from ..events import EventSplitter, replace_data
from ..protocols import Protocol

BAD_GATEWAY = 502
#: The fields with the parts of an answer, one for each protocol, and of embeddings.
_ANSWERS = ("choices", "output", "content", "data")
DEFAULT_MESSAGE = "The upstream returned an error."
#: Error fields that programs evaluate; they are kept if their values are plain names.
_CODE_FIELDS = ("type", "code", "param")
_CODE = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}")
#: Request fields with names of models and formats, which an error may repeat.
_NAMES = frozenset({"model", "role", "type", "object"})


def clean_body(protocol: Protocol, sent: Any, status: int, content: bytes) -> bytes:
    """An error's body in the protocol's format. ``sent`` holds the texts that no error may repeat."""
    data = _parse(content)
    body = protocol.problem(status, DEFAULT_MESSAGE)
    error = (_error_of(data) or data) if isinstance(data, dict) else {}
    return json.dumps({**body, "error": {**body["error"], **_clean(sent, error)}}, ensure_ascii=False).encode()


def is_answer(data: dict[str, Any]) -> bool:
    """Whether the body of a response of status 200 is an answer.

    Some upstreams report errors with status 200, as a field or in a choice; a proxy in front of one may send a page.
    """
    return not holds_error(data) and any(isinstance(data.get(name), list) for name in _ANSWERS)


def clean_failure(protocol: Protocol, sent: Any, status: int, content: bytes) -> tuple[int, bytes]:
    """The status and clean body for a body that is no answer."""
    if status >= 400:
        return status, clean_body(protocol, sent, status, content)
    data = _parse(content)
    if isinstance(data, dict) and data.get("status") == "failed":  # a response's own form, which clients expect
        return status, json.dumps(_failed_response(data, _clean(sent, _error_of(data) or {}))).encode()
    return BAD_GATEWAY, clean_body(protocol, sent, BAD_GATEWAY, content)


def holds_error(event: dict[str, Any]) -> bool:
    """Whether an event of a stream reports an error."""
    return event.get("type") == "error" or _error_of(event) is not None


def clean_event(sent: Any, event: dict[str, Any]) -> dict[str, Any]:
    """An error event with a cleaned error, and without other fields that may repeat text of the request."""
    kind = {"type": event["type"]} if isinstance(event.get("type"), str) else {}
    error = _clean(sent, _error_of(event) or event)
    if kind.get("type") == "response.failed":
        return {**kind, "response": _failed_response(event["response"], error), **_number(event)}
    return {**kind, **_number(event), **({"error": error} if "error" in event else error | kind)}


def clean_events(sent: Any, raw: bytes) -> tuple[bytes, list[dict[str, Any]]]:
    """These complete events with clean errors, as bytes and as JSON data."""
    cleaned = replace_data(raw, lambda event: clean_event(sent, event) if holds_error(event) else None)
    return EventSplitter().feed(cleaned)


def _failed_response(response: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    names: tuple[str, ...] = ("id", "object", "created_at", "model", "usage")
    kept = {name: response[name] for name in names if name in response}
    return {**kept, "status": "failed", "output": [], "error": error}


def _number(event: dict[str, Any]) -> dict[str, int]:
    number = event.get("sequence_number")
    return {"sequence_number": number} if isinstance(number, int) else {}


def _error_of(data: dict[str, Any]) -> dict[str, Any] | None:
    response = data.get("response")
    error = data.get("error") or (response.get("error") if isinstance(response, dict) else None) or _error_in(data)
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else None


def _error_in(data: dict[str, Any]) -> Any:
    """The error of a choice."""
    choices = data["choices"] if isinstance(data.get("choices"), list) else []
    errors = (choice.get("error") for choice in choices if isinstance(choice, dict))
    return next(filter(None, errors), None)


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _clean(sent: Any, error: dict[str, Any]) -> dict[str, Any]:
    texts = list(_texts(sent))
    message = error.get("message") or error.get("detail")
    message = services.clean_error(message, sent=texts) if isinstance(message, str) else ""
    codes = {name: error[name] for name in _CODE_FIELDS if isinstance(error.get(name), str)}
    named = {name: value for name, value in codes.items() if _CODE.fullmatch(value)}
    kept = {name: value for name, value in named.items() if services.clean_error(value, sent=texts) == value}
    return {"message": message or DEFAULT_MESSAGE, **kept}


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """All strings in the sent values, without field names and the values of ``_NAMES`` fields."""
    if isinstance(value, str) and name not in _NAMES:
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
