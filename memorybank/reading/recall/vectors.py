"""How near each turn of a bank is to a question in meaning. numpy is imported only when there are vectors."""

from memorybank.models import Bank, Chat, Embedding
from memorybank.reading.recall import embedding


def cosines(bank: Bank, question: str, *, without: Chat | None) -> dict[int, float]:
    """Cosine, −1…1, of every turn that has a vector of the current model and of the question's size; else {}."""
    model = embedding.embedder()
    asked = embedding.of_question(bank, question) if model else None
    if model is None or asked is None:
        return {}
    import numpy as np

    rows = Embedding.objects.filter(bank=bank, model=model.model[:200], dims=asked.dims)
    rows = rows.exclude(document__chat=without) if without else rows
    stored = list(rows.values_list("pk", "vector"))
    if not stored:
        return {}
    matrix = np.frombuffer(b"".join(bytes(vector) for _, vector in stored), dtype=np.float32)
    near = matrix.reshape(len(stored), asked.dims) @ np.frombuffer(asked.vectors[0], dtype=np.float32)
    return dict(zip((pk for pk, _ in stored), near.tolist(), strict=True))
