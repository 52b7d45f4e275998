"""PostgreSQL's tsvector: a generated column of the document, with a GIN index."""

#: The ids that one query finds, in one value. One scalar for each word, planned by itself: a union of them is taken
#: for costly and given parallel workers, a join with a list of queries is compiled; both start slower than they run.
IDS = "SELECT string_agg(output_id::text, ' ') FROM memorybank_searchdocument WHERE search @@ %s::tsquery"


def match(word: str, unwanted: str) -> str:
    """The query for one index word."""
    return f"'{word}' & !'{unwanted}'" if unwanted else f"'{word}'"


def tidy() -> None:
    """Vacuuming is the server's own business."""
