"""The full-text index behind one interface: index words in, ids of outputs out."""

from collections.abc import Sequence
from types import ModuleType

from django.db import connection

from memorybank.reading.recall import postgres, sqlite
from memorybank.reading.recall.index_terms import of_chat

VENDORS: dict[str, ModuleType] = {"sqlite": sqlite, "postgresql": postgres}


def postings(bank_id: int, words: Sequence[str], *, without_chat: int | None = None) -> list[list[int]]:
    """For each index word the outputs that have it, but none of the chat ``without_chat``. One query."""
    vendor = VENDORS[connection.vendor]
    unwanted = of_chat(bank_id, without_chat) if without_chat else ""
    # One word at most comes from chat text, and it is hashed: see recall.words.
    return _lists([vendor.IDS] * len(words), [vendor.match(word, unwanted) for word in words])


def newest(phrases: Sequence[Sequence[Sequence[str]]], most: int) -> list[list[int]]:
    """For each phrase the ``most`` newest outputs that have of each of its choices one index word. One query."""
    vendor = VENDORS[connection.vendor]
    given = [value for words in phrases for value in (vendor.match_all(words), most)]
    return _lists([vendor.NEWEST] * len(phrases), given)


def _lists(queries: Sequence[str], values: Sequence[str | int]) -> list[list[int]]:
    """The ids that each query finds."""
    if not queries:
        return []
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'({query})' for query in queries)}", values)
        found = cursor.fetchone()  # not a row an id: thousands of rows take a driver longer than the index
    return [[int(output_id) for output_id in (ids or "").split()] for ids in found]


def tidy() -> None:
    """Rewrite the index without the traces of deleted rows, where a database keeps any. Slow: after an erasure."""
    VENDORS[connection.vendor].tidy()
