"""PostgreSQL's tsvector: a generated column of the document, with a GIN index."""

#: From a JSON list of queries: each query's place in it, and the ids it finds. A join with a list, because a union
#: of many cheap lookups is taken for a costly query and given parallel workers, which start slower than it runs.
SELECT = """
    SELECT place - 1, string_agg(output_id::text, ' ')
    FROM json_array_elements_text(%s::json) WITH ORDINALITY AS asked (query, place)
    JOIN memorybank_searchdocument ON search @@ query::tsquery
    GROUP BY place
"""


def match(word: str, unwanted: str) -> str:
    """The query for one index word."""
    return f"'{word}' & !'{unwanted}'" if unwanted else f"'{word}'"


def tidy() -> None:
    """Vacuuming is the server's own business."""
