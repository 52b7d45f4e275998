"""What refusals say to programs: the field that the schema knows and its limit, and nothing that was sent.

All doors (API, gateway, MCP) word validation errors here. Names that no schema knows are counted, because such a name
may be a value in the wrong place.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from json import JSONDecodeError
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

#: A field's path, such as ``("outputs", 0, "chat")``.
Path = tuple[str | int, ...]


class StrictFields(BaseModel):
    """What a program sends. Unknown fields are refused, so that a misspelt field is not silently ignored."""

    model_config = ConfigDict(extra="forbid")
    #: The names of all fields of all such classes: what an error's path may contain.
    known_names: ClassVar[set[str]] = set()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        StrictFields.known_names.update(cls._names())

    @classmethod
    def _names(cls) -> list[str]:
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := len(data.keys() - set(cls._names()))):
            raise PydanticCustomError("unknown_fields", "{why}", {"why": unknown_names("field", unknown, cls._names())})
        return data


def unknown_names(kind: str, count: int, known: Collection[str]) -> str:
    """Say how many names of this kind are unknown, and which there are."""
    counted = f"{count} unknown {kind}{'s' if count > 1 else ''}"
    return f"{counted}; known are {', '.join(known)}." if known else f"{counted}; there are none here."


def field_errors(errors: Iterable[Mapping[str, Any]]) -> dict[Path, str]:
    """The message of each field that Pydantic found wrong. A path ends before the first name that no schema knows."""
    found: dict[Path, str] = {}
    for error in errors:
        path = tuple(takewhile(lambda part: isinstance(part, int) or part in StrictFields.known_names, error["loc"]))
        found.setdefault(path, f"{str(error['msg']).rstrip('.')}.")
    return found


def not_json(error: Exception) -> str:
    """Why a body is not JSON; of its content at most a position."""
    if isinstance(error, RecursionError):
        return "The body is not JSON: it is nested too deeply."
    if isinstance(error, UnicodeDecodeError):
        return "The body is not JSON: it is not UTF-8."
    if isinstance(error, JSONDecodeError):
        return f"The body is not JSON: {error.msg}, line {error.lineno}, column {error.colno}."
    return "The body is not JSON: it has a number that cannot be read."
