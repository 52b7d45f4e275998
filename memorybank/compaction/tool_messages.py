"""Render the tool calls and results of a turn as text for the prompt, next to the message that they belong to.

Each result is shown with its call, as providers require. For a missing call or result, a "?" is shown. No input
raises an error, whatever it contains.
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

#: Limit for all results of one turn together; the middle of longer results is cut out.
MAX_RESULT_TOKENS = 1_000
MIN_RESULT_TOKENS = 50
#: Limit for one call, because its arguments may contain a whole file.
MAX_CALL_CHARACTERS = 500


@dataclass(slots=True)
class ToolCall:
    """A tool call and its result (None if missing). ``text`` is "" for a result without a call."""

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
    """One line per call, in order. The results share MAX_RESULT_TOKENS, but each gets at least MIN_RESULT_TOKENS."""
    calls = list(_paired_calls(messages))
    max_tokens = max(MIN_RESULT_TOKENS, MAX_RESULT_TOKENS // max(1, len(calls)))
    return [_line(call, max_tokens, encoding) for call in calls]


def _paired_calls(messages: Any) -> list[ToolCall]:
    """The calls with their results: a result is assigned to the first call with its id and no result yet."""
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
