"""Read a JSON array or JSON Lines item by item, without loading all of it. Any other JSON value is one item."""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Any, Protocol

from memorybank.exceptions import InvalidInput

CHUNK_BYTES = 2**20
#: An item is one conversation, or an object that contains all conversations.
MAX_ITEM_CHARACTERS = 64 * 2**20
BLANKS = re.compile(r"[ \t\n\r]*")


class Readable(Protocol):
    """A binary stream."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; b"" at the end."""


def items(stream: Readable) -> Iterator[Any]:
    """Yield each item. Raises :class:`InvalidInput` at the first one that is not valid UTF-8 JSON or is too long."""
    buffer = _Buffer(stream)
    if buffer.peek() != "[":
        yield buffer.value()
        while buffer.peek():
            yield buffer.value()
        return
    buffer.skip("[")
    is_first = True
    while buffer.peek() != "]":
        if not is_first:
            buffer.skip(",")
        yield buffer.value()
        is_first = False
    buffer.skip("]")
    if buffer.peek():
        raise InvalidInput(f"not valid JSON: text after the closing “]” in line {buffer.line}.")


class _Buffer:
    """Text that was read but not parsed yet. It grows by half until it contains a whole value."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self._decode = stream, getincrementaldecoder("utf-8-sig")().decode
        self._text, self._start, self._end = "", 0, False
        self._decoder = json.JSONDecoder()
        self._lines_before = 0

    @property
    def line(self) -> int:
        """The number of the line that is read next."""
        return self._lines_before + self._text.count("\n", 0, self._start) + 1

    def peek(self) -> str:
        """The next character that is not white space; "" at the end. Does not consume it."""
        while True:
            self._start = BLANKS.match(self._text, self._start).end()  # type: ignore[union-attr]  # it always matches
            if self._start < len(self._text):
                return self._text[self._start]
            if not self._more(CHUNK_BYTES):
                return ""

    def skip(self, character: str) -> None:
        if self.peek() != character:
            raise InvalidInput("not valid JSON.")
        self._start += 1

    def value(self) -> Any:
        """Parse and consume the next JSON value."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._start)
                if end < len(self._text) or self._end:  # a number may continue in the next chunk
                    self._start = end
                    return value
            except RecursionError as error:
                raise InvalidInput("not valid JSON: it is too deep.") from error
            except ValueError as error:
                if self._end:
                    raise InvalidInput("not valid JSON.") from error
            length = len(self._text) - self._start
            if length > MAX_ITEM_CHARACTERS:
                raise InvalidInput(f"not valid JSON, or an item of more than {MAX_ITEM_CHARACTERS:,} characters.")
            self._more(max(CHUNK_BYTES, length // 2))

    def _more(self, size: int) -> bool:
        """Read more text; return False at the end of the stream."""
        if self._end:
            return False
        chunk = self._stream.read(size)
        self._end = not chunk
        try:
            text = self._decode(chunk, self._end)
        except UnicodeDecodeError as error:
            raise InvalidInput("not valid UTF-8.") from error
        self._lines_before = self.line - 1
        self._text, self._start = self._text[self._start :] + text, 0
        return not self._end
