"""Full-text search in PostgreSQL: a generated tsvector column of the document, with a GIN index."""

from collections.abc import Sequence

#: The ids that one query finds, in one string. One scalar subquery for each word, because each is planned by itself:
#: for a union of them the planner expects high costs and starts parallel workers, and for a join with a list of queries
#: it JIT-compiles the plan; both take longer to start than to run.
IDS_QUERY = "SELECT string_agg(output_id::text, ' ') FROM memorybank_searchdocument WHERE search @@ %s::tsquery"
#: The newest of these ids. OFFSET keeps the server from walking back through all documents until it has found enough.
NEWEST_IDS_QUERY = (
    "SELECT string_agg(output_id::text, ' ') FROM (SELECT output_id FROM "
    "(SELECT output_id FROM memorybank_searchdocument WHERE search @@ %s::tsquery OFFSET 0) AS found "
    "ORDER BY output_id DESC LIMIT %s) AS newest"
)


#: The number of documents that one query finds.
COUNT_QUERY = "SELECT count(*) FROM memorybank_searchdocument WHERE search @@ %s::tsquery"


def match(word: str, *unwanted: str) -> str:
    """The query for one index word, without documents that the queries ``unwanted`` match."""
    return " & !".join([f"'{word}'", *(f"({query})" for query in unwanted)])


def match_all(choices: Sequence[Sequence[str]]) -> str:
    """The query for turns that have one word of each choice."""
    return " & ".join("({})".format(" | ".join(f"'{word}'" for word in choice)) for choice in choices)


def purge_deleted() -> None:
    """Nothing to do: the server vacuums."""
