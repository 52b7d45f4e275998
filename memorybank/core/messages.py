"""The messages of an output as they come in: OpenAI's chat format, with whatever else a provider adds. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorybank.exceptions import InvalidInput

#: Deeper than any provider's; far less than what JSON libraries and databases give up at.
MAX_DEPTH = 50

NAMES: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
    tuple: "a list",
    type(None): "null",
}
TEXT, OBJECT, LIST = (str,), (dict,), (list, tuple)

#: What is read of each kind of object, and what it may be; null is as good as nothing.
MESSAGE = {"role": TEXT, "name": TEXT, "tool_call_id": TEXT, "content": TEXT + LIST, "tool_calls": LIST}
PART = {"type": TEXT, "text": TEXT}
CALL = {"id": TEXT, "type": TEXT, "function": OBJECT}
FUNCTION = {"name": TEXT, "arguments": TEXT + OBJECT}


def require_list(messages: Any) -> None:
    """Raise :class:`InvalidInput` unless they are several, shallow enough for every library to read."""
    if not isinstance(messages, LIST):
        raise InvalidInput("messages: must be a list of chat messages.")
    level: list[Any] = list(messages)
    for _ in range(MAX_DEPTH):
        level = [inner for value in level if isinstance(value, OBJECT + LIST) for inner in _inside(value)]
    if level:
        raise InvalidInput(f"messages: nested more than {MAX_DEPTH} deep.")


def require_readable(messages: Sequence[Any]) -> None:
    """Raise :class:`InvalidInput`, naming the place, unless each is what it should be."""
    for at, message in enumerate(messages):
        _require(f"messages[{at}]", message, MESSAGE)
        _require_each(f"messages[{at}].content", message.get("content"), PART)
        for call_at, call in _require_each(f"messages[{at}].tool_calls", message.get("tool_calls"), CALL):
            if call.get("function") is not None:
                _require(f"{call_at}.function", call["function"], FUNCTION)


def _inside(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _require_each(where: str, values: Any, fields: Mapping[str, tuple[type, ...]]) -> list[tuple[str, Any]]:
    """Each of a list of objects with its place; nothing if it is no list."""
    placed = [(f"{where}[{at}]", value) for at, value in enumerate(values)] if isinstance(values, LIST) else []
    for at, value in placed:
        _require(at, value, fields)
    return placed


def _require(where: str, value: Any, fields: Mapping[str, tuple[type, ...]]) -> None:
    _require_type(where, value, OBJECT)
    for name, types in fields.items():
        if value.get(name) is not None:
            _require_type(f"{where}.{name}", value[name], types)


def _require_type(where: str, value: Any, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        wanted = " or ".join(dict.fromkeys(NAMES[each] for each in types))
        raise InvalidInput(f"{where}: must be {wanted}, not {NAMES.get(type(value), type(value).__name__)}.")
