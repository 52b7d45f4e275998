"""Parse server-sent events while forwarding them unchanged. Pure."""

import json
import re
from collections.abc import Callable
from typing import Any

_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class EventSplitter:
    """Splits a stream at event boundaries. An incomplete event is held back, so a broken stream sends no half event."""

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, chunk: bytes) -> tuple[bytes, list[dict[str, Any]]]:
        """The bytes up to the end of the last complete event, and the JSON data of those events."""
        buffer = self.rest + chunk
        ends = [match.end() for match in _EVENT_END.finditer(buffer, max(0, len(self.rest) - 3))]
        if not ends:
            self.rest = buffer
            return b"", []
        whole, self.rest = buffer[: ends[-1]], buffer[ends[-1] :]
        return whole, [data for event in _EVENT_END.split(whole) if (data := _event_data(event)) is not None]


def replace_data(events: bytes, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> bytes:
    """Replace the JSON data of complete events by the result of ``change``; None leaves an event unchanged."""
    parts: list[bytes] = []
    start = 0
    for end in [match.end() for match in _EVENT_END.finditer(events)] or [len(events)]:
        event = events[start:end]
        data = _event_data(event)
        changed = change(data) if data else None
        if changed is not None:
            others = [line for line in event.splitlines() if line and not line.startswith(b"data:")]
            event = b"\n".join([*others, b"data: " + json.dumps(changed).encode()]) + b"\n\n"
        parts.append(event)
        start = end
    return b"".join([*parts, events[start:]])


def _event_data(event: bytes) -> dict[str, Any] | None:
    """An event's JSON data; ``[DONE]``, the end of chat completions, becomes ``{"type": "[DONE]"}``."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    text = b"\n".join(lines)
    if text == b"[DONE]":
        return {"type": "[DONE]"}
    try:
        data = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
