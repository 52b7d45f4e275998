"""Compare a question with the nearest vectors of a bank by pgvector's index, and with a sample of the others.

The bank's mean cosine is estimated from the sample, which is the same for every question; so nothing is cached, and a
question costs the same after each change of memory.
"""

import statistics
from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import BigIntegerField, F, Func, QuerySet
from django.db.models.expressions import RawSQL

from memorybank.models import SearchDocument
from memorybank.models.search import EmbeddingQuerySet
from memorybank.postgresql import vector_index
from memorybank.reading.recall.ranking import Similarities

#: Turns that the index returns, and turns that it explores: exploring more of them misses fewer.
NEAREST_TURNS, EXPLORED_TURNS = 100, 100
#: Up to this many vectors are compared without the index: that is exact, and about as fast.
MAX_VECTORS_WITHOUT_INDEX = 3_000
#: Turns from which the mean is estimated.
SAMPLED_TURNS = 150
#: Continue the scan if this person may not read many of the nearest turns; and never sort all rows instead.
SCAN_SETTINGS = (
    f"SET LOCAL hnsw.ef_search = {EXPLORED_TURNS}; SET LOCAL hnsw.iterative_scan = relaxed_order; "
    "SET LOCAL enable_sort = off"
)
RESET_SCAN_SETTINGS = "RESET hnsw.ef_search; RESET hnsw.iterative_scan; RESET enable_sort"


@dataclass(frozen=True, slots=True)
class IndexedVectors:
    """The nearest turns and the sample; the cosines of other turns are computed when they are asked for."""

    rows: EmbeddingQuerySet
    distance: RawSQL
    found: dict[int, float]
    sample: list[float]

    @property
    def nearest(self) -> list[int]:
        """The ids of the nearest turns, nearest first."""
        return list(self.found)

    def similarities(self, turns: Collection[int]) -> Similarities:
        """The cosines of these turns and of the nearest ones."""
        if not self.found:
            return Similarities()
        others = self.rows.filter(pk__in=[pk for pk in turns if pk not in self.found])
        cosines = self.found | _cosines(others, self.distance)
        return Similarities(cosines, statistics.fmean(self.sample), max(self.found.values()))


def compare(
    rows: EmbeddingQuerySet,
    bank_id: int,
    question: bytes,
    *,
    total: int,
    without: int | None,
    within: QuerySet[SearchDocument] | None,
) -> IndexedVectors:
    """Compare a question's vector with ``rows``, those of ``total`` turns; see :func:`vectors.compare` for the rest."""
    dims = len(question) // 4
    if without:
        rows = rows.exclude(document__chat=without)
    if within is not None:
        rows = rows.filter(document__in=within)
    near = vector_index.near(dims)
    distance = RawSQL(f"{near} <=> %s::{vector_index.type_of(dims)}", [vector_index.extended(bank_id, question)])
    found = (
        _exact(rows, distance) if within is not None or total <= MAX_VECTORS_WITHOUT_INDEX else _indexed(rows, distance)
    )
    by_chance = Func(F("pk"), function="hashint8", output_field=BigIntegerField())
    sample = _cosines(rows.order_by(by_chance), distance, SAMPLED_TURNS) if found else {}
    return IndexedVectors(rows, distance, found, list(sample.values()))


def _indexed(rows: EmbeddingQuerySet, distance: RawSQL) -> dict[int, float]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(SCAN_SETTINGS)
        found = _cosines(rows.order_by(distance), distance, NEAREST_TURNS)
        with connection.cursor() as cursor:
            cursor.execute(RESET_SCAN_SETTINGS)  # an outer transaction may go on
    return dict(sorted(found.items(), key=lambda turn: -turn[1]))  # the index's order is relaxed


def _exact(rows: EmbeddingQuerySet, distance: RawSQL) -> dict[int, float]:
    # The index does not cover this sum, so the database compares all rows.
    unindexed = RawSQL(f"({distance.sql}) + 0", distance.params)
    return _cosines(rows.order_by(unindexed), distance, NEAREST_TURNS)


def _cosines(rows: EmbeddingQuerySet, distance: RawSQL, limit: int | None = None) -> dict[int, float]:
    """The cosines of the first ``limit`` rows, in their order; rows that the index does not hold are left out."""
    found = rows.annotate(distance=distance).values_list("pk", "distance")[:limit]
    return {pk: vector_index.cosine(distance) for pk, distance in found if distance is not None}
