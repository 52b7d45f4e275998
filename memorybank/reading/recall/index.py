"""One interface to the databases' full-text indexes: index words in, ids of outputs out."""

from collections.abc import Sequence
from types import ModuleType

from django.db import connection

from memorybank.reading.recall import postgres, sqlite
from memorybank.reading.recall.index_terms import chat_word

VENDORS: dict[str, ModuleType] = {"sqlite": sqlite, "postgresql": postgres}


def postings(bank_id: int, words: Sequence[str], *, without_chat: int | None = None) -> list[list[int]]:
    """For each index word, the outputs that contain it, except those of the chat ``without_chat``. One query."""
    vendor = VENDORS[connection.vendor]
    unwanted = chat_word(bank_id, without_chat) if without_chat else ""
    # Words of chat text are hashed, so the query needs no quoting: see index_terms.
    return _lists([vendor.IDS_QUERY] * len(words), [vendor.match(word, unwanted) for word in words])


def newest(phrases: Sequence[Sequence[Sequence[str]]], most: int) -> list[list[int]]:
    """For each phrase, the ``most`` newest outputs that contain one index word of each choice. One query."""
    vendor = VENDORS[connection.vendor]
    values = [value for words in phrases for value in (vendor.match_all(words), most)]
    return _lists([vendor.NEWEST_IDS_QUERY] * len(phrases), values)


def _lists(queries: Sequence[str], values: Sequence[str | int]) -> list[list[int]]:
    """The ids that each query returns."""
    if not queries:
        return []
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'({query})' for query in queries)}", values)
        row = cursor.fetchone()  # one row for all ids: thousands of rows take a driver longer than the index
    return [[int(output_id) for output_id in (ids or "").split()] for ids in row]


def purge_deleted() -> None:
    """Rewrite the index without traces of deleted rows, where a database keeps any. Slow: after an erasure."""
    VENDORS[connection.vendor].purge_deleted()
