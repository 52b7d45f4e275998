"""Embed a question, and compare its vector with those of a bank's turns.

Optional twice: without ``MEMORYBANK["EMBEDDINGS"]`` or without numpy, recall uses words alone; so it does while the
model is down. numpy is imported only if there are vectors.
"""

from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from django.utils import timezone

from memorybank import conf, llm
from memorybank.exceptions import LLMError, LLMRejected
from memorybank.llm.embeddings import Embeddings, OpenAICompatibleEmbedder
from memorybank.models import Bank, Embedding, LLMCall, LLMEndpoint, MaskedValue, ledgered
from memorybank.reading.recall.index_cache import IndexCache

#: Of a text: models read some 8,000 tokens, and the beginning determines the meaning.
MAX_EMBEDDED_CHARACTERS = 8_000


def embedder() -> OpenAICompatibleEmbedder | None:
    """The configured embedding model; None if there is none, or no numpy to search its vectors."""
    return llm.embedder() if conf.current().embeddings and find_spec("numpy") else None


def model_name(model: OpenAICompatibleEmbedder) -> str:
    return model.model[:200]


def cosines(known: IndexCache, question: str, *, without: int | None) -> dict[int, float]:
    """Cosine, −1…1, of every turn for this person with a vector of the current model and of the question's size.

    ``without`` is the id of a chat that is left out.
    """
    model = embedder()
    vector = question_vector(known.bank, question) if model else None
    if model is None or vector is None:
        return {}
    import numpy as np

    ids, chats, matrix = _stored_vectors(known, model_name(model), vector.dims)
    near = matrix @ np.frombuffer(vector.vectors[0], dtype=np.float32)
    return {pk: cosine for pk, chat, cosine in zip(ids, chats, near.tolist(), strict=True) if chat != without}


def _stored_vectors(known: IndexCache, model: str, dims: int) -> tuple[list[int], list[int], Any]:
    """Turns, their chats, and the matrix of their vectors, a row each."""
    import numpy as np

    rows = Embedding.objects.filter(bank=known.bank, model=model, dims=dims).visible_to(known.viewer)

    def read() -> tuple[list[int], list[int], Any]:
        stored = list(rows.values_list("pk", "document__chat", "vector"))
        matrix = np.frombuffer(b"".join(bytes(row[2]) for row in stored), dtype=np.float32)
        return [row[0] for row in stored], [row[1] for row in stored], matrix.reshape(len(stored), dims)

    return known.keep(("vectors", model, dims), read, lambda stored: int(stored[2].nbytes))


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
    """One call, recorded in the ledger whatever its outcome."""
    with ledgered(bank_id, LLMCall.Purpose.EMBEDDING, model.model, now, keep=_save_call) as call:
        embeddings = model.embed(texts)
        call.prompt_tokens = embeddings.prompt_tokens
    return embeddings


def _save_call(call: LLMCall) -> None:
    """Record the call, unless the bank has been deleted meanwhile."""
    if Bank.objects.filter(pk=call.bank_id).exists():
        call.save()
