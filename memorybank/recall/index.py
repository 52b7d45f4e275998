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
    found: list[list[int]] = [[] for _ in words]
    with connection.cursor() as cursor:
        # One word at most comes from chat text, and it is hashed: see recall.words.
        parts = (vendor.SELECT.format(place=place) for place in range(len(words)))
        cursor.execute(" UNION ALL ".join(parts), [vendor.match(word, unwanted) for word in words])
        for place, output_id in cursor:
            found[place].append(output_id)
    return found


def tidy() -> None:
    """Rewrite the index without the traces of deleted rows, where a database keeps any. Slow: after an erasure."""
    VENDORS[connection.vendor].tidy()
