"""Parse server-sent events while forwarding them unchanged. Pure."""

import json
import re
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
