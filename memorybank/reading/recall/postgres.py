"""PostgreSQL's tsvector: a generated column of the document, with a GIN index."""

from collections.abc import Sequence

#: The ids that one query finds, in one value. One scalar for each word, planned by itself: a union of them is taken
#: for costly and given parallel workers, a join with a list of queries is compiled; both start slower than they run.
IDS = "SELECT string_agg(output_id::text, ' ') FROM memorybank_searchdocument WHERE search @@ %s::tsquery"
#: The newest of them. OFFSET keeps the server from walking back through all documents until it has met enough.
NEWEST = (
    "SELECT string_agg(output_id::text, ' ') FROM (SELECT output_id FROM "
    "(SELECT output_id FROM memorybank_searchdocument WHERE search @@ %s::tsquery OFFSET 0) AS found "
    "ORDER BY output_id DESC LIMIT %s) AS newest"
)


def match(word: str, unwanted: str) -> str:
    """The query for one index word."""
    return f"'{word}' & !'{unwanted}'" if unwanted else f"'{word}'"


def match_all(choices: Sequence[Sequence[str]]) -> str:
    """The query for turns that have one word of each choice."""
    return " & ".join("({})".format(" | ".join(f"'{word}'" for word in choice)) for choice in choices)


def tidy() -> None:
    """Vacuuming is the server's own business."""
