"""Validate the messages of an output: OpenAI's chat format, with any additions of a provider. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorybank.exceptions import InvalidInput

#: Deeper than any provider's messages; far below the limits of JSON libraries and databases.
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

#: The fields read of each kind of object, and their types; null counts as missing.
MESSAGE = {"role": TEXT, "name": TEXT, "tool_call_id": TEXT, "content": TEXT + LIST, "tool_calls": LIST}
PART = {"type": TEXT, "text": TEXT}
CALL = {"id": TEXT, "type": TEXT, "function": OBJECT}
FUNCTION = {"name": TEXT, "arguments": TEXT + OBJECT}


def require_list(messages: Any) -> None:
    """Raise :class:`InvalidInput` unless it is a list that is shallow enough for every library to read."""
    if not isinstance(messages, LIST):
        raise InvalidInput("messages: must be a list of chat messages.")
    level: list[Any] = list(messages)
    for _ in range(MAX_DEPTH):
        level = [inner for value in level if isinstance(value, OBJECT + LIST) for inner in _inside(value)]
    if level:
        raise InvalidInput(f"messages: nested more than {MAX_DEPTH} deep.")


def require_readable(messages: Sequence[Any]) -> None:
    """Raise :class:`InvalidInput` with the place of the first field that has the wrong type."""
    for number, message in enumerate(messages):
        _require(f"messages[{number}]", message, MESSAGE)
        _require_each(f"messages[{number}].content", message.get("content"), PART)
        for place, call in _require_each(f"messages[{number}].tool_calls", message.get("tool_calls"), CALL):
            if call.get("function") is not None:
                _require(f"{place}.function", call["function"], FUNCTION)


def _inside(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _require_each(where: str, values: Any, fields: Mapping[str, tuple[type, ...]]) -> list[tuple[str, Any]]:
    """The elements of a list of objects with their places; empty if it is no list."""
    placed = [(f"{where}[{number}]", value) for number, value in enumerate(values)] if isinstance(values, LIST) else []
    for place, value in placed:
        _require(place, value, fields)
    return placed


def _require(where: str, value: Any, fields: Mapping[str, tuple[type, ...]]) -> None:
    _require_type(where, value, OBJECT)
    for name, types in fields.items():
        if value.get(name) is not None:
            _require_type(f"{where}.{name}", value[name], types)


def _require_type(where: str, value: Any, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        wanted = " or ".join(dict.fromkeys(NAMES[kind] for kind in types))
        raise InvalidInput(f"{where}: must be {wanted}, not {NAMES.get(type(value), type(value).__name__)}.")
