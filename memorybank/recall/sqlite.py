"""SQLite's FTS5: an external-content table that triggers keep in step with the documents."""

from django.db import connection

#: From a JSON list of queries: each query's place in it, and the ids it finds.
SELECT = """
    SELECT asked.key, group_concat(memorybank_search.rowid, ' ')
    FROM json_each(%s) AS asked CROSS JOIN memorybank_search ON memorybank_search MATCH asked.value
    GROUP BY asked.key
"""


def match(word: str, unwanted: str) -> str:
    """The query for one index word."""
    return f'"{word}" NOT "{unwanted}"' if unwanted else f'"{word}"'


def tidy() -> None:
    """Merge all segments into one: until then they hold the (hashed) words of deleted rows."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memorybank_search (memorybank_search) VALUES ('optimize')")
