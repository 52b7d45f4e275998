"""The search index: a document for each covered turn, and its vector if there is an embedding model.

Both are derived. Deleting an output deletes its document by foreign key, and the database removes the document from
the full-text index (see the migration and ``memorybank.reading.recall``).
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from .audience import ByAudience
from .bank import Bank
from .chat import Chat, Output


class SearchDocumentQuerySet(ByAudience["SearchDocument"]):
    def unembedded(self, model: str) -> SearchDocumentQuerySet:
        """Documents without a vector of ``model``, in banks that are enabled and below their cap."""
        # Two ranges, because databases use no index for "not equal".
        other = Q(embedded_with__lt=model) | Q(embedded_with__gt=model)
        return self.filter(other, bank__enabled=True, bank__capped_at=None).order_by("bank_id", "pk")

    def of(self, bank: Bank) -> SearchDocumentQuerySet:
        """The documents of ``bank`` in a queryset that is already restricted to some ids.

        ``bank_id + 0`` keeps SQLite, which has no statistics, from using the index on the bank: it would read all
        documents of the bank instead of the few ids.
        """
        return self.alias(of_bank=F("bank_id") + 0).filter(of_bank=bank.pk)


class SearchDocument(models.Model):
    """A turn prepared for recall: masked sentences, and the text for the full-text index."""

    output = models.OneToOneField(Output, models.CASCADE, primary_key=True, related_name="document")
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="documents")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="documents", db_index=False)
    sequence = models.PositiveBigIntegerField(help_text="The sequence of its output.")
    words = models.TextField(help_text="The text in the full-text index.")
    length = models.PositiveIntegerField(help_text="Content words of the message.")
    lines = models.JSONField(help_text="[speaker, sentence, weight, reported] in the order of the message.")
    said_at = models.DateTimeField()
    previous = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="The id of the previous output of its chat, which may be erased.",
    )
    embedded_with = models.CharField(max_length=200, blank=True, help_text="The embedding model of its vector.")

    objects: ClassVar[SearchDocumentQuerySet] = SearchDocumentQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read when a chat is deleted or made private.
            models.Index(name="document_by_chat", fields=["chat"]),
            # Read by recall: the turn that follows a turn.
            models.Index(name="document_by_previous", fields=["previous"]),
            # Read by SearchDocumentQuerySet.unembedded on every sweep.
            models.Index(name="document_by_model", fields=["embedded_with"]),
        ]

    def __str__(self) -> str:
        return f"document of output {self.pk}"


class EmbeddingQuerySet(ByAudience["Embedding"]):
    to_chat = "document__chat"


class Embedding(models.Model):
    """A turn's vector: 32-bit floats, length 1. Only vectors of the same model and size are comparable."""

    document = models.OneToOneField(SearchDocument, models.CASCADE, primary_key=True, related_name="embedding")
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="embeddings", db_index=False)
    model = models.CharField(max_length=200)
    dims = models.PositiveIntegerField()
    vector = models.BinaryField()

    objects: ClassVar[EmbeddingQuerySet] = EmbeddingQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read by recall: one bank's vectors of the current model.
            models.Index(name="embedding_by_bank", fields=["bank", "model", "dims"]),
        ]

    def __str__(self) -> str:
        return f"vector of output {self.pk}"
