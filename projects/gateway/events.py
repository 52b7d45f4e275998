"""Server-sent events, read while they pass: whole events go on as the bytes they are. Pure."""

import json
import re
from typing import Any

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class Events:
    """Takes chunks as they come. What is no whole event yet waits, so that a break never leaves half of one."""

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, chunk: bytes) -> tuple[bytes, list[dict[str, Any]]]:
        """The bytes up to the end of the last whole event, and what those events say."""
        waiting = self.rest + chunk
        ends = [found.end() for found in _END.finditer(waiting, max(0, len(self.rest) - 3))]
        if not ends:
            self.rest = waiting
            return b"", []
        whole, self.rest = waiting[: ends[-1]], waiting[ends[-1] :]
        return whole, [data for event in _END.split(whole) if (data := _data(event)) is not None]


def _data(event: bytes) -> dict[str, Any] | None:
    """What an event says as JSON; the end of a stream of chat completions as an event of ours."""
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    text = b"\n".join(lines)
    if text == b"[DONE]":
        return {"type": "[DONE]"}
    try:
        data = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
