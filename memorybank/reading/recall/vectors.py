"""Embed a question, and compare its vector with those of a bank's turns.

Recall uses words alone without ``MEMORYBANK["EMBEDDINGS"]``, without numpy, and while the embedding model is down.
numpy is imported only if there are vectors. With pgvector, its index finds the nearest vectors; otherwise numpy
compares all of them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from memorybank import conf, llm
from memorybank.exceptions import LLMError, LLMRejected
from memorybank.llm.embeddings import Embeddings, OpenAICompatibleEmbedder
from memorybank.models import Bank, Embedding, LLMCall, LLMEndpoint, MaskedValue, SearchDocument, ledgered
from memorybank.models.search import EmbeddingQuerySet
from memorybank.postgresql import vector_index
from memorybank.reading.recall import pgvector
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.ranking import Similarities

#: Characters of a text that are embedded: models read some 8,000 tokens, and the beginning determines the meaning.
MAX_EMBEDDED_CHARACTERS = 8_000


class Comparison(Protocol):
    """A question compared with the turns of a bank."""

    @property
    def nearest(self) -> Sequence[int]:
        """The nearest turns, nearest first."""

    def similarities(self, turns: Collection[int]) -> Similarities:
        """The cosines of these turns, with the mean and the maximum of the bank."""


class StoredVectors(NamedTuple):
    """Turns in the order of their ids, their chats, and the matrix of their vectors, a row each."""

    ids: Any
    chats: Any
    matrix: Any


@dataclass(frozen=True, slots=True)
class ScannedVectors:
    """Every turn's cosine; ``nearest`` are all turns, nearest first."""

    nearest: list[int]
    all: Similarities

    def similarities(self, turns: Collection[int]) -> Similarities:
        """The cosines of all turns, because they are known anyway."""
        return self.all


NO_VECTORS = ScannedVectors([], Similarities())


def scan(
    known: IndexCache,
    vectors: EmbeddingQuerySet,
    question: bytes,
    *,
    key: str,
    without: int | None,
    within: QuerySet[SearchDocument] | None,
) -> ScannedVectors:
    """Compare the question's vector with all ``vectors``, in numpy; ``known`` caches their matrix under ``key``."""
    import numpy as np

    stored = _read_vectors(known, vectors, key, len(question) // 4)
    cosines = stored.matrix @ np.frombuffer(question, dtype=np.float32)
    counts = stored.chats != (without or 0)
    if within is not None:
        counts &= np.isin(stored.ids, list(within.values_list("pk", flat=True)))
    ids, cosines = stored.ids[counts], cosines[counts]
    if not ids.size:
        return NO_VECTORS
    by_nearness = ids[np.argsort(-cosines, kind="stable")].tolist()
    compared = dict(zip(ids.tolist(), cosines.tolist(), strict=True))
    return ScannedVectors(by_nearness, Similarities(compared, float(cosines.mean()), float(cosines.max())))


def _read_vectors(known: IndexCache, vectors: EmbeddingQuerySet, key: str, dims: int) -> StoredVectors:
    import numpy as np

    def read() -> StoredVectors:
        stored = list(vectors.order_by("pk").values_list("pk", "document__chat", "vector"))
        matrix = np.frombuffer(b"".join(bytes(row[2]) for row in stored), dtype=np.float32)
        ids, chats = (np.array([row[place] for row in stored], dtype=np.int64) for place in (0, 1))
        return StoredVectors(ids, chats, matrix.reshape(len(stored), dims))

    return known.keep(("vectors", key, dims), read, lambda stored: int(stored.matrix.nbytes))


def embedder() -> OpenAICompatibleEmbedder | None:
    """The configured embedding model; None if there is none, or no numpy to search its vectors."""
    return llm.embedder() if conf.current().embeddings and find_spec("numpy") else None


def model_name(model: OpenAICompatibleEmbedder) -> str:
    return model.model[:200]


def compare(
    known: IndexCache,
    question: str,
    *,
    total: int,
    without: int | None,
    within: QuerySet[SearchDocument] | None = None,
) -> Comparison:
    """Compare a question with the readable turns that have a vector of the current model and the question's size.

    ``total`` is the number of turns that the viewer of ``known`` may read. ``without`` is the id of a chat that is left
    out; with ``within`` only these documents are compared.
    """
    model = embedder()
    vector = question_vector(known.bank, question) if model else None
    if model is None or vector is None:
        return NO_VECTORS
    name, [asked] = model_name(model), vector.vectors
    rows = Embedding.objects.filter(bank=known.bank, model=name, dims=vector.dims).visible_to(known.viewer)
    if vector_index.holds(connection, vector.dims):
        return pgvector.compare(rows, known.bank.pk, asked, total=total, without=without, within=within)
    return scan(known, rows, asked, key=name, without=without, within=within)


def question_vector(bank: Bank, question: str) -> Embeddings | None:
    """The vector of a question, or None: no model, an outage, or no vectors in this bank to compare it with."""
    model = embedder()
    if model is None or not Embedding.objects.filter(bank=bank, model=model_name(model)).exists():
        return None
    now = timezone.now()
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        return None
    try:
        masked = MaskedValue.objects.masker(bank).mask(question[:MAX_EMBEDDED_CHARACTERS])
        embeddings = embed_texts(model, bank.pk, [masked], now)
    except LLMError as error:
        if not isinstance(error, LLMRejected):
            endpoint.failed(str(error), now)
        return None
    endpoint.recovered(now)
    return embeddings


def embed_texts(model: OpenAICompatibleEmbedder, bank_id: int, texts: Sequence[str], now: datetime) -> Embeddings:
    """Embed texts in one call, which the ledger records whatever its outcome."""
    with ledgered(bank_id, LLMCall.Purpose.EMBEDDING, model.model, now, keep=_save_call) as call:
        embeddings = model.embed(texts)
        call.prompt_tokens = embeddings.prompt_tokens
    return embeddings


def _save_call(call: LLMCall) -> None:
    """Record the call, unless the bank has been deleted meanwhile."""
    if Bank.objects.filter(pk=call.bank_id).exists():
        call.save()
