"""Render the tool calls and results of a turn, for the prompt, beside the message that they belong to.

Each result is shown with its call, as providers require. A result without a call and a call without a result are shown
as such. No input is refused, whatever it contains.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memorybank import conf
from memorybank.compaction.planning import elide_middle
from memorybank.core.transcript import LINE_INDENT
from memorybank.language import plain
from memorybank.prompts.templates import render

#: Of all results of one turn; longer ones lose their middle.
MAX_RESULT_TOKENS = 1_000
MIN_RESULT_TOKENS = 50
#: Of one call: its arguments may hold a whole file.
MAX_CALL_CHARACTERS = 500


@dataclass(slots=True)
class ToolCall:
    """One call, and its result once there is one. ``text`` is "" for a result without a call."""

    id: str
    text: str
    result: str | None = None


def render_tool_messages(messages: Any) -> str:
    """Tool calls and results of a turn (an output's ``messages``) as fenced data; "" if there are none.

    Calls and results become text, not messages, so any provider accepts them.
    """
    rows = tool_lines(messages, encoding=conf.current().encoding) if messages else []
    return render("tools", {"lines": rows}) if rows else ""


def tool_lines(messages: Any, *, encoding: str) -> list[str]:
    """One line for each call, in order, with at most MAX_RESULT_TOKENS of results (but MIN_RESULT_TOKENS for each)."""
    calls = list(_paired_calls(messages))
    max_tokens = max(MIN_RESULT_TOKENS, MAX_RESULT_TOKENS // max(1, len(calls)))
    return [_line(call, max_tokens, encoding) for call in calls]


def _paired_calls(messages: Any) -> list[ToolCall]:
    """The calls with their results: a result goes to the first call of its id that has none yet."""
    calls: list[ToolCall] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            call_id, result = str(message.get("tool_call_id") or ""), _text(message.get("content"))
            unanswered = next(
                (call for call in calls if call.id == call_id and call.text and call.result is None), None
            )
            if unanswered:
                unanswered.result = result
            else:
                calls.append(ToolCall(call_id, "", result))
        calls += _requested_calls(message.get("tool_calls"))
    return calls


def _requested_calls(calls: Any) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            text = f"{_text(function.get('name'))}({_text(function.get('arguments'))})"
            yield ToolCall(str(call.get("id") or ""), " ".join(plain(text).split())[:MAX_CALL_CHARACTERS])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_text(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _line(call: ToolCall, max_tokens: int, encoding: str) -> str:
    result = LINE_INDENT.join(plain(elide_middle(call.result or "", max_tokens, encoding)).splitlines())
    return f"{call.text or '?'} → {result or '?'}"
