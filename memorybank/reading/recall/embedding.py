"""Vectors of turns, made by the worker after the turns are stored; and of questions, when they are asked.

Optional twice: without ``MEMORYBANK["EMBEDDINGS"]`` or without numpy nothing here does anything. A model's outage
never reaches recording, and a question then goes by its words alone.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from memorybank import conf, llm
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMUnavailable
from memorybank.language.sentences import ended
from memorybank.llm.embeddings import Embedded, OpenAICompatibleEmbedder
from memorybank.models import Bank, Embedding, LLMCall, LLMEndpoint, MaskedValue, SearchDocument, ledgered
from memorybank.models.search import SearchDocumentQuerySet

logger = logging.getLogger(__name__)

#: Turns embedded by one sweep, and by one call.
SWEEP, BATCH = 512, 64
#: Characters of a turn that are embedded; models read some 8,000 tokens, and meaning is told early.
MOST_CHARACTERS = 8_000


def embedder() -> OpenAICompatibleEmbedder | None:
    """The configured embedding model; None if there is none, or nothing to search its vectors with."""
    return llm.embedder() if conf.current().embeddings and find_spec("numpy") else None


def is_due(bank: Bank | None = None) -> bool:
    """Whether turns wait for a vector of the current model. One indexed query; none without a model."""
    model = embedder()
    return model is not None and _waiting(model, bank).exists()


def embed_due(*, now: datetime, bank: Bank | None = None) -> int:
    """Embed waiting turns, at most SWEEP; how many. Raises what the model raises, having kept what it gave."""
    model = embedder()
    if model is None or not _waiting(model, bank).exists():
        return 0
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        return 0
    waiting = list(_waiting(model, bank)[:SWEEP])
    done = 0
    try:
        for bank_id, documents in groupby(waiting, key=lambda document: document.bank_id):
            rows = list(documents)
            for start in range(0, len(rows), BATCH):
                done += _embed(model, bank_id, rows[start : start + BATCH], now)
    except LLMUnavailable as error:
        endpoint.failed(str(error), now, error.retry_after)
        raise
    except LLMMisconfigured as error:
        endpoint.failed(str(error), now, conf.current().backoff_max_seconds)
        raise
    endpoint.recovered(now)
    return done


def _waiting(model: OpenAICompatibleEmbedder, bank: Bank | None) -> SearchDocumentQuerySet:
    waiting = SearchDocument.objects.unembedded(_name(model))
    return waiting.filter(bank=bank) if bank else waiting


def _name(model: OpenAICompatibleEmbedder) -> str:
    return model.model[:200]


def _embed(model: OpenAICompatibleEmbedder, bank_id: int, documents: Sequence[SearchDocument], now: datetime) -> int:
    """One call; if the model refuses it, one for each turn, and a turn refused alone goes without a vector."""
    try:
        vectors = _ask(model, bank_id, [shown(document.lines)[:MOST_CHARACTERS] for document in documents], now)
    except LLMRejected:
        if len(documents) > 1:
            return sum(_embed(model, bank_id, [document], now) for document in documents)
        logger.warning("output %s: the embedding model refuses it", documents[0].pk)
        return _store(model, documents, None)
    return _store(model, documents, vectors)


def _store(model: OpenAICompatibleEmbedder, documents: Sequence[SearchDocument], made: Embedded | None) -> int:
    """Keep the vectors of turns that are still there and still say the same."""
    name = _name(model)
    with transaction.atomic():
        rows = SearchDocument.objects.select_for_update().filter(pk__in=[document.pk for document in documents])
        current = dict(rows.values_list("pk", "words"))
        fresh = [at for at, document in enumerate(documents) if current.get(document.pk) == document.words]
        keep = [documents[at].pk for at in fresh]
        Embedding.objects.filter(document__in=keep).delete()
        if made:
            Embedding.objects.bulk_create(
                Embedding(
                    document_id=documents[at].pk,
                    bank_id=documents[at].bank_id,
                    model=name,
                    dims=made.dims,
                    vector=made.vectors[at],
                )
                for at in fresh
            )
        return SearchDocument.objects.filter(pk__in=keep).update(embedded_with=name)


def of_question(bank: Bank, question: str) -> Embedded | None:
    """The vector of a question, or None: no model, an outage, or nothing of this bank to compare it with."""
    model = embedder()
    if model is None or not Embedding.objects.filter(bank=bank, model=_name(model)).exists():
        return None
    now = timezone.now()
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        return None
    try:
        masked = MaskedValue.objects.masker(bank).mask(question[:MOST_CHARACTERS])
        made = _ask(model, bank.pk, [masked], now)
    except LLMError as error:
        if not isinstance(error, LLMRejected):
            endpoint.failed(str(error), now)
        return None
    endpoint.recovered(now)
    return made


def _ask(model: OpenAICompatibleEmbedder, bank_id: int, texts: Sequence[str], now: datetime) -> Embedded:
    """One call, entered in the cost ledger whatever comes of it."""
    with ledgered(bank_id, LLMCall.Purpose.EMBEDDING, model.model, now, keep=_enter) as call:
        made = model.embed(texts)
        call.prompt_tokens = made.prompt_tokens
    return made


def _enter(call: LLMCall) -> None:
    """On the ledger, unless the bank has been deleted meanwhile."""
    if Bank.objects.filter(pk=call.bank_id).exists():
        call.save()


def shown(lines: Sequence[Sequence[object]]) -> str:
    """A document's lines as a person reads them: one paragraph a speaker."""
    paragraphs: list[str] = []
    last: object = None
    for speaker, text, *_ in lines:
        if paragraphs and speaker == last:
            paragraphs[-1] = f"{ended(paragraphs[-1])} {text}"
        else:
            paragraphs.append(f"{speaker}: {text}")
        last = speaker
    return "\n".join(paragraphs)
