"""pgvector: a column of the embeddings table with vectors for HNSW indexes.

``migrate`` adds the column and its indexes if the extension exists or can be created, and fills them from the stored
vectors. Without the extension, each question is compared with all vectors of its bank.

All banks share the indexes, and pgvector applies a condition on the bank only after it has searched an index. So 32
numbers that are specific to the bank are appended to each vector: vectors of other banks are then far away, and the
search does not reach them.
"""

import hashlib
import logging
import math
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from memorybank import conf
from memorybank.models import Embedding

logger = logging.getLogger(__name__)

TABLE = Embedding._meta.db_table
COLUMN = "near"
#: An index holds vectors of one size. Shorter vectors are padded with zeros, which does not change cosines.
INDEXED_DIMENSIONS = (256, 384, 512, 768, 1024, 1536, 2048, 3072)
BANK_DIMS = 32
#: pgvector 0.8 introduced iterative scans, which continue the search while a condition excludes the results.
MIN_VERSION = (0, 8)
ROWS_PER_STATEMENT = 500

AVAILABLE = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
CREATED = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
HAS_COLUMN = (
    f"SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('{TABLE}') AND attname = '{COLUMN}' AND NOT attisdropped"
)
ADD_COLUMN = f"ALTER TABLE {TABLE} ADD COLUMN IF NOT EXISTS {COLUMN} halfvec"
MISSING = (
    f"SELECT document_id, bank_id, vector FROM {TABLE} WHERE {COLUMN} IS NULL AND dims <= %s AND document_id > %s "
    f"ORDER BY document_id LIMIT {ROWS_PER_STATEMENT}"
)
FILL = (
    f"UPDATE {TABLE} SET {COLUMN} = made.{COLUMN}::halfvec "
    f"FROM unnest(%s::bigint[], %s::text[]) AS made (id, {COLUMN}) WHERE document_id = made.id"
)
#: Index for a random sample of a bank's vectors, the same for every question; see ``recall.pgvector``.
SAMPLE_INDEX = f"CREATE INDEX IF NOT EXISTS memorybank_sample ON {TABLE} (bank_id, model, dims, hashint8(document_id))"


def holds(connection: BaseDatabaseWrapper, dims: int) -> bool:
    """Whether this database has an index for vectors of this size."""
    if connection.vendor != "postgresql" or dims > INDEXED_DIMENSIONS[-1]:
        return False
    with connection.cursor() as cursor:
        cursor.execute(HAS_COLUMN)
        return cursor.fetchone() is not None


def type_of(dims: int) -> str:
    """The SQL type of extended vectors."""
    return f"halfvec({_size(dims) + BANK_DIMS})"


def near(dims: int) -> str:
    """The indexed expression for vectors of this size."""
    return f"({TABLE}.{COLUMN}::{type_of(dims)})"


def extended(bank_id: int, vector: bytes) -> str | None:
    """The indexed form of a vector, padded and with its bank's numbers; None if all zeros, as it has no cosine."""
    values = array("f", vector)
    if not any(values):
        return None
    zeros = [0.0] * (_size(len(values)) - len(values))
    numbers = (*values, *zeros, *_bank_numbers(bank_id))
    return f"[{','.join(['%.5g'] * len(numbers))}]" % numbers  # twice as fast as formatting each number


def cosine(distance: float) -> float:
    """The cosine of two vectors of one bank, from the cosine distance of their extended vectors.

    The vector and its bank's numbers each have length 1, and the bank's numbers are the same for both.
    """
    return 1 - 2 * distance


def store(connection: BaseDatabaseWrapper, embeddings: Sequence[Embedding]) -> None:
    """Add stored vectors to the index, if there is one."""
    if embeddings and holds(connection, embeddings[0].dims):
        with connection.cursor() as cursor:
            _fill(cursor, [(row.document_id, row.bank_id, row.vector) for row in embeddings])


def install(using: str, **_: Any) -> None:
    """After ``migrate``: add the column and its indexes, filled from the stored vectors, if pgvector is available."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        if not _create_extension(connection, cursor):
            return
        cursor.execute(ADD_COLUMN)
        last, rows = 0, [(0, 0, b"")]
        while rows:
            cursor.execute(MISSING, [INDEXED_DIMENSIONS[-1], last])
            rows = cursor.fetchall()
            if rows:
                last = rows[-1][0]
                _fill(cursor, rows)
        for smaller, size in zip((0, *INDEXED_DIMENSIONS), INDEXED_DIMENSIONS, strict=False):
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS memorybank_near_{size} ON {TABLE} USING hnsw "
                f"(({COLUMN}::{type_of(size)}) halfvec_cosine_ops) WHERE dims > {smaller} AND dims <= {size}"
            )
        cursor.execute(SAMPLE_INDEX)


def _create_extension(connection: BaseDatabaseWrapper, cursor: Any) -> bool:
    """Create the extension if needed; whether it is installed now in ``MIN_VERSION`` or newer."""
    cursor.execute(AVAILABLE)
    available = cursor.fetchone()
    if not available or _version(available[0]) < MIN_VERSION:
        return False
    try:
        with transaction.atomic(connection.alias):
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except DatabaseError as error:
        logger.warning("pgvector is there, but this role may not create it: %s", error)
        return False
    cursor.execute(CREATED)
    return _version(cursor.fetchone()[0]) >= MIN_VERSION


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _fill(cursor: Any, rows: Sequence[tuple[int, int, Any]]) -> None:
    cursor.execute(FILL, [[row[0] for row in rows], [extended(row[1], bytes(row[2])) for row in rows]])


def _size(dims: int) -> int:
    return next(size for size in INDEXED_DIMENSIONS if dims <= size)


@lru_cache(maxsize=1000)
def _bank_numbers(bank_id: int) -> list[float]:
    """The numbers appended to a bank's vectors: of length 1, and nearly orthogonal to those of other banks."""
    bits = int.from_bytes(hashlib.sha256(str(bank_id).encode()).digest()[: BANK_DIMS // 8], "big")
    return [(1 if bits >> place & 1 else -1) / math.sqrt(BANK_DIMS) for place in range(BANK_DIMS)]


@register(Tags.database)
def check_pgvector(databases: Any = None, **_: Any) -> list[CheckMessage]:
    """Warn if PostgreSQL has no vector index, so that each question is compared with all vectors."""
    connection = connections["default"]
    if "default" not in (databases or []) or connection.vendor != "postgresql" or not conf.current().embeddings:
        return []
    if holds(connection, INDEXED_DIMENSIONS[0]):
        return []
    hint = "Install pgvector 0.8 or newer, allow the role to create it, and run: python manage.py migrate"
    text = "There is no index of vectors: each question is compared with all vectors of its project."
    return [Warning(text, hint=hint, id="memorybank.W003")]
