"""Count tokens exactly and offline: the encoding tables ship with the app.

Special-token text such as ``<|endoftext|>`` is plain text here, never a control token.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memorybank.language.work_cache import remembered_by_digest

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODINGS = ("o200k_base", "cl100k_base")
TABLES_FOLDER = Path(__file__).parent / "encodings"

# tiktoken's Rust core recurses on very long pieces and slows down on very long texts; slices bound both.
MAX_SLICE_CHARACTERS = 100_000
# In both tables a token begins at a space between two letters, so a cut there changes no count. (Another cut may:
# tokens are not subadditive, "rt" is one token and "rtrt" is three.)
_SAFE_CUT = re.compile(r"(?<=[a-zA-Z])(?= [a-zA-Z])")


@cache
def encoding(name: str) -> "Encoding":
    """The named encoding, from the shipped table. tiktoken is imported on first use (60 ms)."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES_FOLDER)
    import tiktoken

    return tiktoken.get_encoding(name)


def encode(text: str, name: str = "o200k_base") -> list[int]:
    """Token ids of ``text``; lone surrogates count as the replacement character.

    Exact, unless a slice of 100,000 characters has no space between two letters in its last 2,000: then the cut after
    it may add or remove a few tokens.
    """
    table = encoding(name)
    text = text.encode("utf-8", "replace").decode("utf-8")
    ids: list[int] = []
    for piece in _slices(text):
        ids += table.encode(piece, disallowed_special=())
    return ids


def _slices(text: str) -> Iterator[str]:
    """``text`` in pieces of at most ``MAX_SLICE_CHARACTERS``, cut where the tokenizer cuts."""
    start = 0
    while len(text) - start > MAX_SLICE_CHARACTERS:
        search_start = start + MAX_SLICE_CHARACTERS - 2_000
        cuts = [match.start() for match in _SAFE_CUT.finditer(text, search_start, start + MAX_SLICE_CHARACTERS)]
        end = cuts[-1] if cuts else start + MAX_SLICE_CHARACTERS
        yield text[start:end]
        start = end
    yield text[start:]


@remembered_by_digest
def count(text: str, name: str = "o200k_base") -> int:
    return len(encode(text, name))
