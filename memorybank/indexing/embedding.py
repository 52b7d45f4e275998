"""Embed turns: the worker computes their vectors after they are indexed, so an outage never delays recording.

Does nothing without ``MEMORYBANK["EMBEDDINGS"]`` or without numpy.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from django.db import connection, transaction

from memorybank import bank_scope, conf
from memorybank.exceptions import LLMMisconfigured, LLMRejected, LLMUnavailable
from memorybank.llm.embeddings import Embeddings, OpenAICompatibleEmbedder
from memorybank.models import Bank, Embedding, LLMEndpoint, SearchDocument
from memorybank.models.search import SearchDocumentQuerySet
from memorybank.postgresql import vector_index
from memorybank.reading.recall.vectors import MAX_EMBEDDED_CHARACTERS, embed_texts, embedder, model_name
from memorybank.reading.recall.visibility import as_paragraphs

logger = logging.getLogger(__name__)

TURNS_PER_SWEEP, TURNS_PER_CALL = 512, 64


def waiting(bank: Bank | None = None) -> SearchDocumentQuerySet:
    """Turns without a vector of the current model; none without a model."""
    model = embedder()
    if model is None:
        return SearchDocument.objects.none()
    documents = SearchDocument.objects.unembedded(model_name(model))
    return documents.filter(bank=bank) if bank else documents


def embed_due(*, now: datetime, bank: Bank | None = None) -> int:
    """Embed at most ``TURNS_PER_SWEEP`` waiting turns; return how many (0 while the endpoint backs off).

    Raises :class:`LLMUnavailable` or :class:`LLMMisconfigured`; vectors that were stored before the error are kept.
    """
    model = embedder()
    if model is None or not waiting(bank).exists():
        return 0
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        return 0
    turns = list(waiting(bank)[:TURNS_PER_SWEEP])
    done = 0
    try:
        for bank_id, documents in groupby(turns, key=lambda document: document.bank_id):
            rows = list(documents)
            with bank_scope.banks_entered(bank_id):
                for start in range(0, len(rows), TURNS_PER_CALL):
                    done += _embed(model, bank_id, rows[start : start + TURNS_PER_CALL], now)
    except LLMUnavailable as error:
        endpoint.failed(str(error), now, error.retry_after)
        raise
    except LLMMisconfigured as error:
        endpoint.failed(str(error), now, conf.current().backoff_max_seconds)
        raise
    endpoint.recovered(now)
    return done


def _embed(model: OpenAICompatibleEmbedder, bank_id: int, documents: Sequence[SearchDocument], now: datetime) -> int:
    """One call; if the model rejects it, one call for each turn. A turn that is rejected alone gets no vector."""
    try:
        vectors = embed_texts(
            model, bank_id, [as_paragraphs(document.lines)[:MAX_EMBEDDED_CHARACTERS] for document in documents], now
        )
    except LLMRejected:
        if len(documents) > 1:
            return sum(_embed(model, bank_id, [document], now) for document in documents)
        logger.warning("output %s: rejected by the embedding model", documents[0].pk)
        return _store(model, documents, None)
    return _store(model, documents, vectors)


def _store(model: OpenAICompatibleEmbedder, documents: Sequence[SearchDocument], made: Embeddings | None) -> int:
    """Store the vectors of the documents that still exist unchanged."""
    name = model_name(model)
    with transaction.atomic():
        Bank.objects.touch_index(documents[0].bank_id)  # first: it takes the bank's lock, which erasures hold, too
        rows = SearchDocument.objects.select_for_update().filter(pk__in=[document.pk for document in documents])
        current = dict(rows.values_list("pk", "words"))
        unchanged = [index for index, document in enumerate(documents) if current.get(document.pk) == document.words]
        ids = [documents[index].pk for index in unchanged]
        Embedding.objects.filter(document__in=ids).delete()
        if made:
            stored = Embedding.objects.bulk_create(
                Embedding(
                    document_id=documents[index].pk,
                    bank_id=documents[index].bank_id,
                    model=name,
                    dims=made.dims,
                    vector=made.vectors[index],
                )
                for index in unchanged
            )
            vector_index.store(connection, stored)
        return SearchDocument.objects.filter(pk__in=ids).update(embedded_with=name)
