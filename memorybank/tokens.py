"""Counting tokens exactly and offline: the tables ship with the app.

Special-token text such as ``<|endoftext|>`` is plain text here, never a control token.
"""

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODINGS = ("o200k_base", "cl100k_base")
TABLES = Path(__file__).parent / "encodings"

# tiktoken's Rust core recurses on very long pieces and slows down on very long texts;
# counting in slices of this many characters bounds both. A slice boundary can only add tokens.
SLICE = 100_000


@cache
def encoding(name: str) -> "Encoding":
    """The named encoding, from the shipped table. tiktoken is imported on first use (60 ms)."""
    os.environ["TIKTOKEN_CACHE_DIR"] = str(TABLES)
    import tiktoken

    return tiktoken.get_encoding(name)


def encode(text: str, name: str = "o200k_base") -> list[int]:
    """Token ids of ``text``; lone surrogates count as the replacement character."""
    table = encoding(name)
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= SLICE:
        return table.encode(text, disallowed_special=())
    ids: list[int] = []
    for start in range(0, len(text), SLICE):
        ids += table.encode(text[start : start + SLICE], disallowed_special=())
    return ids


def count(text: str, name: str = "o200k_base") -> int:
    """How many tokens ``text`` is."""
    return len(encode(text, name))
