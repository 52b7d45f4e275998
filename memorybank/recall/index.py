"""The full-text index behind one interface: index words in, ids of outputs out."""

from collections.abc import Sequence
from types import ModuleType

from django.db import connection

from . import postgres, sqlite
from .words import of_chat

VENDORS: dict[str, ModuleType] = {"sqlite": sqlite, "postgresql": postgres}


def postings(bank_id: int, words: Sequence[str], *, without_chat: int | None = None) -> list[list[int]]:
    """For each index word the outputs that have it, but none of the chat ``without_chat``. One query."""
    if not words:
        return []
    vendor = VENDORS[connection.vendor]
    unwanted = of_chat(bank_id, without_chat) if without_chat else ""
    with connection.cursor() as cursor:
        # One word at most comes from chat text, and it is hashed: see recall.words.
        lists = ", ".join(f"({vendor.IDS})" for _ in words)
        cursor.execute(f"SELECT {lists}", [vendor.match(word, unwanted) for word in words])
        found = cursor.fetchone()  # not a row an id: thousands of rows take a driver longer than the index
    return [[int(output_id) for output_id in (ids or "").split()] for ids in found]


def tidy() -> None:
    """Rewrite the index without the traces of deleted rows, where a database keeps any. Slow: after an erasure."""
    VENDORS[connection.vendor].tidy()
