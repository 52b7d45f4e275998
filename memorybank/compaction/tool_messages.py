"""What tools were asked and said in a turn, as a prompt tells it beside the message that it was for.

Each result stands with its call: providers want no other. A result whose call is not there, and a call that has no
result, are told as that. Nothing is refused, whatever it is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memorybank import conf
from memorybank.compaction.planning import cut
from memorybank.core.transcript import LINE_INDENT
from memorybank.language import plain
from memorybank.prompts.templates import render

#: Tokens of the results of one turn; of longer ones the middles are left out.
MOST = 1_000
FEWEST = 50
#: Characters of a call, which may write a whole file.
MOST_OF_A_CALL = 500


@dataclass(slots=True)
class Call:
    """One call, and its result once it is there. ``said`` is "" for a result that belongs to no call."""

    id: str
    said: str
    result: str | None = None


def tools_said(messages: Any) -> str:
    """Tool calls and results of a turn (an output's ``messages``) as fenced data; "" if there are none.

    Any provider takes it: calls and results are no messages of their own, so none is without the other.
    """
    rows = lines(messages, encoding=conf.current().encoding) if messages else []
    return render("tools", {"lines": rows}) if rows else ""


def lines(messages: Any, *, encoding: str) -> list[str]:
    """One a call, in the order of the calls, within MOST tokens of results (FEWEST for each, if they are many)."""
    calls = list(_calls(messages))
    room = max(FEWEST, MOST // max(1, len(calls)))
    return [_line(call, room, encoding) for call in calls]


def _calls(messages: Any) -> list[Call]:
    """The calls with their results: a result goes to the first call of its id that waits for one."""
    calls: list[Call] = []
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            name, result = str(message.get("tool_call_id") or ""), _text(message.get("content"))
            waits = next((call for call in calls if call.id == name and call.said and call.result is None), None)
            if waits:
                waits.result = result
            else:
                calls.append(Call(name, "", result))
        calls += _asked(message.get("tool_calls"))
    return calls


def _asked(calls: Any) -> Iterator[Call]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            said = f"{_text(function.get('name'))}({_text(function.get('arguments'))})"
            yield Call(str(call.get("id") or ""), " ".join(plain(said).split())[:MOST_OF_A_CALL])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(_text(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _line(call: Call, room: int, encoding: str) -> str:
    said = LINE_INDENT.join(plain(cut(call.result or "", room, encoding)).splitlines())
    return f"{call.said or '?'} → {said or '?'}"
