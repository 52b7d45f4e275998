"""Read exports of other chat products. Each format has a module here and an entry in ``FORMATS``."""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import IO, Any, NamedTuple, Protocol, cast

from memorybank.exceptions import InvalidInput
from projects.importing.jsonl import REQUIRED_FIELDS

from . import chatgpt, claude, json_lines, librechat, mem0, open_webui, restai
from .archive import read_items
from .conversation import (
    BadConversation,
    BadFieldError,
    ExportedConversation,
    ExportedTurn,
    Item,
    LeftOut,
    Read,
    from_json,
)

__all__ = [
    "FORMATS",
    "BadConversation",
    "BadFieldError",
    "ExportedConversation",
    "ExportedTurn",
    "LeftOut",
    "from_json",
    "read_export",
]


class ExportReader(Protocol):
    """The functions that a format's module defines."""

    def recognises(self, item: Mapping[str, Any]) -> bool:
        """Whether ``item`` can be the first item of this product's export."""

    def read(self, items: Iterable[Item]) -> Read:
        """Yield each conversation, or a :class:`BadConversation` for one that cannot be read."""


class Format(NamedTuple):
    """A format: the product's name for people, the reader, and whether a file is some turns of chats.

    A file of another format is a whole export: what a later one leaves out is no longer shown there.
    """

    product: str
    reader: ExportReader
    has_turns: bool = False


def _format(product: str, module: ModuleType, *, has_turns: bool = False) -> Format:
    return Format(product, cast(ExportReader, module), has_turns)


FORMATS = {
    "chatgpt": _format("ChatGPT", chatgpt),
    "claude": _format("Claude", claude),
    "open-webui": _format("Open WebUI", open_webui),
    "librechat": _format("LibreChat", librechat),
    "mem0": _format("mem0", mem0),
    "restai": _format("RESTai", restai),
    "jsonl": _format("JSON Lines", json_lines, has_turns=True),
}


def read_export(file: IO[bytes], name: str, format: str = "") -> tuple[str, Read]:
    """The name of the format, and an iterator over the file's conversations.

    The format is detected from the first item unless ``format`` names it; JSON Lines, from any of the first lines.
    Raises :class:`InvalidInput` if the file is empty, of an unknown format, or of another format than ``format``. The
    iterator raises it for a file that is not for one project. If the file is damaged further on, the iterator yields
    the conversations before the damage, then a :class:`BadConversation`; of JSON Lines it skips the damaged lines only.
    """
    has_lines = json_lines.has_lines(file)
    items = json_lines.lines(file, name) if has_lines else read_items(file, name)
    first = next(items, None)
    if first is None:
        raise InvalidInput(f"{name}: is empty.")
    known = ["jsonl"] if has_lines else _formats_of(first[1])
    if not known and not format:
        products = ", ".join(row.product for row in FORMATS.values())
        raise InvalidInput(
            f"{name}: is no export of one of these products: {products}. Chats of any other product can be written as "
            f"JSON Lines: one turn a line, with the fields {', '.join(REQUIRED_FIELDS)}."
        )
    if format and known and format not in known:
        raise InvalidInput(f"{name}: is an export of {FORMATS[known[0]].product}, not of {FORMATS[format].product}.")
    chosen = format or known[0]
    return chosen, _read(FORMATS[chosen].reader, first, items)


def _formats_of(item: Any) -> list[str]:
    return [name for name, row in FORMATS.items() if isinstance(item, Mapping) and row.reader.recognises(item)]


def _read(reader: ExportReader, first: Item, items: Iterator[Item]) -> Read:
    broken: list[BadConversation] = []

    def unbroken() -> Iterator[Item]:
        yield first
        try:
            yield from items
        except InvalidInput as error:
            place, _, why = str(error).partition(": ")
            why = f"{why} What follows it in the file was not read."
            broken.append(BadConversation(place, why, is_end=True))

    yield from reader.read(unbroken())
    yield from broken
