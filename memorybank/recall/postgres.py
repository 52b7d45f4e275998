"""PostgreSQL's tsvector: a generated column of the document, with a GIN index."""

SELECT = "SELECT {place}, output_id FROM memorybank_searchdocument WHERE search @@ %s::tsquery"


def match(word: str, unwanted: str) -> str:
    """The query for one index word."""
    return f"'{word}' & !'{unwanted}'" if unwanted else f"'{word}'"


def tidy() -> None:
    """Vacuuming is the server's own business."""
