"""Validate the messages of an output: OpenAI's chat format, with any additions of a provider. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from memorybank.exceptions import InvalidInput

#: Deeper than any provider's messages; far below the limits of JSON libraries and databases.
MAX_NESTING = 50

TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "a list",
    tuple: "a list",
    type(None): "null",
}
TEXT_TYPES, OBJECT_TYPES, LIST_TYPES = (str,), (dict,), (list, tuple)

#: The fields read of each kind of object, and their types; null counts as missing.
MESSAGE_FIELDS = {
    "role": TEXT_TYPES,
    "name": TEXT_TYPES,
    "tool_call_id": TEXT_TYPES,
    "content": TEXT_TYPES + LIST_TYPES,
    "tool_calls": LIST_TYPES,
}
PART_FIELDS = {"type": TEXT_TYPES, "text": TEXT_TYPES}
CALL_FIELDS = {"id": TEXT_TYPES, "type": TEXT_TYPES, "function": OBJECT_TYPES}
FUNCTION_FIELDS = {"name": TEXT_TYPES, "arguments": TEXT_TYPES + OBJECT_TYPES}


def require_list(messages: Any) -> None:
    """Raise :class:`InvalidInput` unless it is a list that is shallow enough for every library to read."""
    if not isinstance(messages, LIST_TYPES):
        raise InvalidInput("messages: must be a list of chat messages.")
    level: list[Any] = list(messages)
    for _ in range(MAX_NESTING):
        level = [inner for value in level if isinstance(value, OBJECT_TYPES + LIST_TYPES) for inner in _inside(value)]
    if level:
        raise InvalidInput(f"messages: nested more than {MAX_NESTING} deep.")


def require_readable(messages: Sequence[Any]) -> None:
    """Raise :class:`InvalidInput` with the place of the first field that has the wrong type."""
    for number, message in enumerate(messages):
        _require(f"messages[{number}]", message, MESSAGE_FIELDS)
        _require_each(f"messages[{number}].content", message.get("content"), PART_FIELDS)
        for place, call in _require_each(f"messages[{number}].tool_calls", message.get("tool_calls"), CALL_FIELDS):
            if call.get("function") is not None:
                _require(f"{place}.function", call["function"], FUNCTION_FIELDS)


def _inside(value: Any) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _require_each(where: str, values: Any, fields: Mapping[str, tuple[type, ...]]) -> list[tuple[str, Any]]:
    """Check each object of a list; return the objects with their places, or nothing if ``values`` is not a list."""
    placed = (
        [(f"{where}[{number}]", value) for number, value in enumerate(values)] if isinstance(values, LIST_TYPES) else []
    )
    for place, value in placed:
        _require(place, value, fields)
    return placed


def _require(where: str, value: Any, fields: Mapping[str, tuple[type, ...]]) -> None:
    _require_type(where, value, OBJECT_TYPES)
    for name, types in fields.items():
        if value.get(name) is not None:
            _require_type(f"{where}.{name}", value[name], types)


def _require_type(where: str, value: Any, types: tuple[type, ...]) -> None:
    if not isinstance(value, types):
        wanted = " or ".join(dict.fromkeys(TYPE_NAMES[kind] for kind in types))
        raise InvalidInput(f"{where}: must be {wanted}, not {TYPE_NAMES.get(type(value), type(value).__name__)}.")
