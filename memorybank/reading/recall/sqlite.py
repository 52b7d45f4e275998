"""Full-text search in SQLite: an FTS5 external-content table that triggers keep in step with the documents."""

from collections.abc import Sequence

from django.db import connection

#: The ids that one query finds, in one string.
IDS_QUERY = "SELECT group_concat(rowid, ' ') FROM memorybank_search WHERE memorybank_search MATCH %s"
#: The newest of these ids. The index returns them in this order and stops at the limit.
NEWEST_IDS_QUERY = (
    "SELECT group_concat(rowid, ' ') FROM "
    "(SELECT rowid FROM memorybank_search WHERE memorybank_search MATCH %s ORDER BY rowid DESC LIMIT %s)"
)


#: The number of documents that one query finds.
COUNT_QUERY = "SELECT count(*) FROM memorybank_search WHERE memorybank_search MATCH %s"


def match(word: str, *unwanted: str) -> str:
    """The query for one index word, without documents that the queries ``unwanted`` match."""
    return " NOT ".join([f'"{word}"', *(f"({query})" for query in unwanted)])


def match_all(choices: Sequence[Sequence[str]]) -> str:
    """The query for turns that have one word of each choice."""
    return " AND ".join("({})".format(" OR ".join(f'"{word}"' for word in choice)) for choice in choices)


def purge_deleted() -> None:
    """Merge all segments into one: until then they hold the (hashed) words of deleted rows."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memorybank_search (memorybank_search) VALUES ('optimize')")
