"""The embedding model, the vector of a question, and how near each turn of a bank is to it in meaning.

Optional twice: without ``MEMORYBANK["EMBEDDINGS"]`` or without numpy, recall goes by words alone; so it does while the
model is down. numpy is imported only when there are vectors.
"""

from collections.abc import Sequence
from datetime import datetime
from importlib.util import find_spec

from django.utils import timezone

from memorybank import conf, llm
from memorybank.exceptions import LLMError, LLMRejected
from memorybank.llm.embeddings import Embeddings, OpenAICompatibleEmbedder
from memorybank.models import Bank, Chat, Embedding, LLMCall, LLMEndpoint, MaskedValue, ledgered

#: Characters of a text that are embedded: models read some 8,000 tokens, and the meaning is told early.
MAX_EMBEDDED_CHARACTERS = 8_000


def embedder() -> OpenAICompatibleEmbedder | None:
    """The configured embedding model; None if there is none, or nothing to search its vectors with."""
    return llm.embedder() if conf.current().embeddings and find_spec("numpy") else None


def model_name(model: OpenAICompatibleEmbedder) -> str:
    return model.model[:200]


def cosines(bank: Bank, question: str, *, without: Chat | None) -> dict[int, float]:
    """Cosine, −1…1, of every turn that has a vector of the current model and of the question's size; else {}."""
    model = embedder()
    asked = of_question(bank, question) if model else None
    if model is None or asked is None:
        return {}
    import numpy as np

    rows = Embedding.objects.filter(bank=bank, model=model_name(model), dims=asked.dims)
    rows = rows.exclude(document__chat=without) if without else rows
    stored = list(rows.values_list("pk", "vector"))
    if not stored:
        return {}
    matrix = np.frombuffer(b"".join(bytes(vector) for _, vector in stored), dtype=np.float32)
    near = matrix.reshape(len(stored), asked.dims) @ np.frombuffer(asked.vectors[0], dtype=np.float32)
    return dict(zip((pk for pk, _ in stored), near.tolist(), strict=True))


def of_question(bank: Bank, question: str) -> Embeddings | None:
    """The vector of a question, or None: no model, an outage, or nothing of this bank to compare it with."""
    model = embedder()
    if model is None or not Embedding.objects.filter(bank=bank, model=model_name(model)).exists():
        return None
    now = timezone.now()
    endpoint = LLMEndpoint.objects.admit(model.fingerprint, now)
    if endpoint is None:
        return None
    try:
        masked = MaskedValue.objects.masker(bank).mask(question[:MAX_EMBEDDED_CHARACTERS])
        made = ask(model, bank.pk, [masked], now)
    except LLMError as error:
        if not isinstance(error, LLMRejected):
            endpoint.failed(str(error), now)
        return None
    endpoint.recovered(now)
    return made


def ask(model: OpenAICompatibleEmbedder, bank_id: int, texts: Sequence[str], now: datetime) -> Embeddings:
    """One call, entered in the cost ledger whatever comes of it."""
    with ledgered(bank_id, LLMCall.Purpose.EMBEDDING, model.model, now, keep=_enter) as call:
        made = model.embed(texts)
        call.prompt_tokens = made.prompt_tokens
    return made


def _enter(call: LLMCall) -> None:
    """On the ledger, unless the bank has been deleted meanwhile."""
    if Bank.objects.filter(pk=call.bank_id).exists():
        call.save()
