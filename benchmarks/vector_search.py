"""Vectors: time of a question over a bank's turns by their vectors, and how many of the ten nearest turns are found.

Commands: python -m benchmarks.vector_search [TURNS…] compares with all vectors. On a server with pgvector it measures the index,
too, on the same vectors: python -m tests.support.pgvector_server python -m benchmarks.vector_search

Target: ≤ 20 ms over 100,000 turns of 1,024 numbers, recall@10 ≥ .98 of exact. The time is that of comparing, without the
model's call. A tenth as many turns are in other banks.
The vectors are drawn, as near to each other as those of a small real model (all-MiniLM-L6-v2 over 6,605 turns of talk:
mean cosine .28, deviation .18, nearest .77, tenth .70, hundredth .61, and an intrinsic dimension (TwoNN) of 16).
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from django.db import connection

from memorybank.models import Bank, Chat, Embedding, Output, SearchDocument
from memorybank.models.search import EmbeddingQuerySet
from memorybank.postgresql import vector_index
from memorybank.reading.recall import pgvector
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.vectors import Comparison, scan

from . import scratch, seeding
from .measuring import Measurement, seconds, show

SIZES, DIMS = (1_000, 10_000, 100_000), 1024
#: Of a drawn vector: independent directions, topics, and how far turns lie from the middle of their topic.
LATENT_DIMS, TOPICS, SPREAD, NOISE = 20, 400, 0.9, 0.25
QUESTIONS, OTHER_BANKS, BATCH = 60, 4, 2_000
MODEL = "drawn"
Compare = Callable[[IndexCache, np.ndarray, int], Comparison]


def measure(sizes: Sequence[int] = SIZES) -> list[Measurement]:
    """For each size: the median time of a question, and recall@10."""
    with scratch.database(EMBEDDINGS={}):
        return [row for size in sizes for row in _measure(size)]


def drawn(count: int, bank: int, seed: int) -> np.ndarray:
    """Vectors of unit length. All banks share the space that the model speaks in; each has its own topics."""
    model, own, draw = (np.random.default_rng(number) for number in (0, bank, seed))
    basis = model.standard_normal((LATENT_DIMS, DIMS), dtype=np.float32) / np.sqrt(DIMS)
    common = model.standard_normal(DIMS, dtype=np.float32) / np.sqrt(DIMS)
    topics = own.standard_normal((TOPICS, LATENT_DIMS), dtype=np.float32)
    sizes = 1 / np.arange(1, TOPICS + 1)
    latent = topics[draw.choice(TOPICS, count, p=sizes / sizes.sum())]
    latent = latent + SPREAD * draw.standard_normal(latent.shape, dtype=np.float32)
    latent /= np.linalg.norm(latent, axis=1, keepdims=True)
    vectors = latent @ basis + 0.55 * common
    vectors += NOISE * draw.standard_normal((count, DIMS), dtype=np.float32) / np.sqrt(DIMS)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _measure(size: int) -> list[Measurement]:
    bank = seeding.bank()
    vectors = drawn(size, bank.pk, 1)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {vector_index.TABLE} DROP COLUMN IF EXISTS {vector_index.COLUMN}")
    _fill(bank, vectors)
    for _ in range(OTHER_BANKS):
        other = seeding.bank()
        _fill(other, drawn(size // 10 // OTHER_BANKS, other.pk, 1))
    migrating = seconds(lambda: vector_index.install("default"))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    ids = np.array(Embedding.objects.filter(bank=bank).order_by("pk").values_list("pk", flat=True))
    asked = drawn(QUESTIONS, bank.pk, 2)
    exact = [set(ids[np.argsort(-(vectors @ question))[:10]].tolist()) for question in asked]
    ways = {"scan": _scan, **({"pgvector": _by_index} if vector_index.holds(connection, DIMS) else {})}
    what = f"{size:,} turns × {DIMS:,}"
    rows = [row for way, compare in ways.items() for row in _of_way(f"{what}, {way}", compare, bank, asked, ids, exact)]
    return [*rows, Measurement(f"{what}: migrating all vectors, s", f"{migrating:.0f}")]


def _of_way(
    what: str, compare: Compare, bank: Bank, asked: np.ndarray, ids: np.ndarray, exact: list[set[int]]
) -> list[Measurement]:
    def ask(known: IndexCache, question: np.ndarray) -> None:
        """As recall does: the nearest turns, and those that words have found."""
        compare(known, question, len(ids)).similarities(ids[:: max(1, len(ids) // 100)].tolist())

    kept, shares, times = IndexCache(bank), [], []
    compare(kept, asked[0], len(ids))
    for question, nearest in zip(asked, exact, strict=True):
        found = compare(kept, question, len(ids)).nearest
        shares.append(len(nearest & set(found[:10])) / 10)
        times.append(seconds(partial(ask, kept, question)) * 1000)
    cold = [seconds(partial(ask, IndexCache(bank), question)) * 1000 for question in asked[:7]]
    return [
        Measurement(f"{what}: a question, ms", f"{statistics.median(times):.1f}", "≤ 20"),
        Measurement(f"{what}: … the first one after a change, ms", f"{statistics.median(cold):.1f}"),
        Measurement(f"{what}: recall@10", f"{statistics.fmean(shares):.3f}", "≥ .98"),
    ]


def _by_index(known: IndexCache, question: np.ndarray, total: int) -> Comparison:
    return pgvector.compare(_rows(known), known.bank.pk, question.tobytes(), total=total, without=None, within=None)


def _scan(known: IndexCache, question: np.ndarray, total: int) -> Comparison:
    return scan(known, _rows(known), question.tobytes(), key=MODEL, without=None, within=None)


def _rows(known: IndexCache) -> EmbeddingQuerySet:
    return Embedding.objects.filter(bank=known.bank, model=MODEL, dims=DIMS).visible_to("")


def _fill(bank: Bank, vectors: np.ndarray) -> None:
    chat = Chat.objects.create(bank=bank, key="filled")
    for start in range(0, len(vectors), BATCH):
        batch = vectors[start : start + BATCH]
        outputs = Output.objects.bulk_create(
            Output(chat=chat, sequence=start + place, author="ann", question="?", created_at=seeding.NOW)
            for place in range(len(batch))
        )
        SearchDocument.objects.bulk_create(
            SearchDocument(
                output=row,
                bank=bank,
                chat=chat,
                sequence=row.sequence,
                words="",
                length=0,
                lines=[],
                said_at=seeding.NOW,
            )
            for row in outputs
        )
        Embedding.objects.bulk_create(
            Embedding(document_id=row.pk, bank=bank, model=MODEL, dims=DIMS, vector=vector.tobytes())
            for row, vector in zip(outputs, batch, strict=True)
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", nargs="*", type=int, default=SIZES)
    show(__doc__.splitlines()[0], measure(parser.parse_args().turns))
