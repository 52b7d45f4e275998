"""Stream the items of an export, a JSON file or a zip of them, with size limits. Nothing is unpacked to disk."""

import re
import zlib
from collections.abc import Iterator
from typing import IO
from zipfile import BadZipFile, ZipFile, is_zipfile

from memorybank.exceptions import InvalidInput

from .conversation import Item
from .json_items import Readable, items

#: Limits of a zip: its members, most of which are pictures; and the total unpacked size of its JSON files.
MAX_MEMBERS, MAX_UNPACKED_BYTES = 100_000, 2 * 2**30
#: The files with conversations. Account exports contain other JSON files, too, such as settings and ratings.
CONVERSATIONS = re.compile(r"(?:.*/)?conversations(?:[-_]\d+)?\.json", re.IGNORECASE)
JSON_FILE = re.compile(r"(?!__MACOSX/).*(?<!/\.)\.json", re.IGNORECASE)


def read_items(file: IO[bytes], name: str) -> Iterator[Item]:
    """Yield each item with its place, such as “conversations.json, item 3”.

    Raises :class:`InvalidInput` at the first item that cannot be read, after it has yielded the items before it.
    """
    if not is_zipfile(file):
        file.seek(0)
        yield from _placed(_Bounded(file, MAX_UNPACKED_BYTES), name)
        return
    try:
        with ZipFile(file) as archive:
            yield from _zip_items(archive, name)
    # A zip may be damaged, encrypted, or compressed with a method that Python does not support.
    except (BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"{name}: cannot be unpacked.") from error


def _zip_items(archive: ZipFile, name: str) -> Iterator[Item]:
    members = archive.namelist()
    if len(members) > MAX_MEMBERS:
        raise InvalidInput(f"{name}: {len(members):,} files, at most {MAX_MEMBERS:,} are allowed.")
    chosen = sorted(filter(CONVERSATIONS.fullmatch, members)) or sorted(filter(JSON_FILE.fullmatch, members))
    if not chosen:
        raise InvalidInput(f"{name}: has no JSON file.")
    left = MAX_UNPACKED_BYTES
    for member in chosen:
        with archive.open(member) as packed:
            stream = _Bounded(packed, left)
            yield from _placed(stream, member)
            left = stream.left


def _placed(stream: "_Bounded", name: str) -> Iterator[Item]:
    number = 0
    try:
        for number, item in enumerate(items(stream), start=1):
            yield f"{name}, item {number}", item
    except InvalidInput as error:
        place = f"{name}, after item {number}" if number else name
        raise InvalidInput(f"{place}: {error}") from error


class _Bounded:
    """A stream that fails after ``left`` bytes, because the sizes that a zip declares may be wrong."""

    def __init__(self, stream: Readable, left: int) -> None:
        self._stream, self.left = stream, left

    def read(self, size: int, /) -> bytes:
        chunk = self._stream.read(min(size, self.left + 1))
        self.left -= len(chunk)
        if self.left < 0:
            raise InvalidInput(f"more than {MAX_UNPACKED_BYTES:,} bytes when it is unpacked.")
        return chunk
