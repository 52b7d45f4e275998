"""One interface to the databases' full-text indexes: index words in, ids of outputs out."""

from collections.abc import Sequence
from types import ModuleType

from django.db import connection

from memorybank.reading.recall import postgres, sqlite
from memorybank.reading.recall.index_terms import chat_word, private_word, reader_word

#: Words that one query looks up, because databases limit its columns.
WORDS_PER_QUERY = 200
VENDORS: dict[str, ModuleType] = {"sqlite": sqlite, "postgresql": postgres}


def postings(
    bank_id: int, words: Sequence[str], *, viewer: str, without_chat: int | None = None
) -> tuple[list[list[int]], int]:
    """For each index word, the ids of outputs that contain it; and the number of outputs that ``viewer`` may not read.

    The ids leave out those outputs and the outputs of the chat ``without_chat``. One query for each
    ``WORDS_PER_QUERY`` words.
    """
    vendor = VENDORS[connection.vendor]
    readers = [vendor.match(reader_word(bank_id, viewer))] if viewer else []
    hidden = vendor.match(private_word(bank_id), *readers)
    unwanted = [hidden, *([vendor.match(chat_word(bank_id, without_chat))] if without_chat else [])]
    # Words of chat text are hashed, so the query needs no quoting: see index_terms.
    found, count = list[list[int]](), 0
    for start in range(0, max(len(words), 1), WORDS_PER_QUERY):
        piece = words[start : start + WORDS_PER_QUERY]
        queries = [*[vendor.IDS_QUERY] * len(piece), vendor.COUNT_QUERY]
        *ids, [count] = _lists(queries, [*(vendor.match(word, *unwanted) for word in piece), hidden])
        found += ids
    return found, count


def newest(phrases: Sequence[Sequence[Sequence[str]]], limit: int) -> list[list[int]]:
    """For each phrase, the ``limit`` newest outputs that contain one index word of each choice. One query."""
    vendor = VENDORS[connection.vendor]
    values = [value for words in phrases for value in (vendor.match_all(words), limit)]
    return _lists([vendor.NEWEST_IDS_QUERY] * len(phrases), values)


def _lists(queries: Sequence[str], values: Sequence[str | int]) -> list[list[int]]:
    """The ids that each query returns."""
    if not queries:
        return []
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(f'({query})' for query in queries)}", values)
        row = cursor.fetchone()  # one row for all ids: thousands of rows take a driver longer than the index
    return [[int(value) for value in str(values).split()] if values is not None else [] for values in row]


def purge_deleted() -> None:
    """Rewrite the index to remove traces of deleted rows, if the database keeps any. Slow: use it after an erasure."""
    VENDORS[connection.vendor].purge_deleted()
