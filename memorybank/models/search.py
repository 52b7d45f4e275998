"""What recall searches: one document for each remembered turn, and its vector if there is an embedding model.

Both are derived. Deleting an output deletes its document by foreign key, and the database takes the
document out of its full-text index (see the migration and ``memorybank.reading.recall``).
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from .bank import Bank
from .chat import Chat
from .output import Output


class SearchDocumentQuerySet(models.QuerySet["SearchDocument"]):
    """Sets of documents."""

    def unembedded(self, model: str) -> SearchDocumentQuerySet:
        """Documents without a vector of ``model``, of banks that are on and not at their cap. Free if none wait."""
        # Two ranges, because no index answers "not equal".
        other = Q(embedded_with__lt=model) | Q(embedded_with__gt=model)
        return self.filter(other, bank__enabled=True, bank__capped_at=None).order_by("bank_id", "pk")

    def of(self, bank: Bank) -> SearchDocumentQuerySet:
        """Those of ``bank`` among rows that are already named by id.

        Written as a sum, so that SQLite, which keeps no statistics, looks up the ids and not the whole bank.
        """
        return self.alias(of_bank=F("bank_id") + 0).filter(of_bank=bank.pk)


class SearchDocument(models.Model):
    """A turn as recall reads it: masked, rewritten, and the words it is found by."""

    output = models.OneToOneField(Output, models.CASCADE, primary_key=True, related_name="document")
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="documents")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="documents", db_index=False)
    sequence = models.PositiveBigIntegerField(help_text="That of its output.")
    words = models.TextField(help_text="What the full-text index holds.")
    length = models.PositiveIntegerField(help_text="Content words of the turn.")
    lines = models.JSONField(help_text="[speaker, sentence, worth] in the order they were said.")
    said_at = models.DateTimeField()
    previous = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="The output before it in its chat; if that is erased, it has no neighbour there.",
    )
    embedded_with = models.CharField(max_length=200, blank=True, help_text="The embedding model that has read it.")

    objects: ClassVar[SearchDocumentQuerySet] = SearchDocumentQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            # Read when a chat is deleted or made private.
            models.Index(name="document_by_chat", fields=["chat"]),
            # Read by recall: the turn after one.
            models.Index(name="document_by_previous", fields=["previous"]),
            # Read by SearchDocumentQuerySet.unembedded on every sweep.
            models.Index(name="document_by_model", fields=["embedded_with"]),
        ]

    def __str__(self) -> str:
        return f"document of output {self.pk}"


class Embedding(models.Model):
    """A turn's vector: unit length, 32-bit floats. Its model and size say what it may be compared with."""

    document = models.OneToOneField(SearchDocument, models.CASCADE, primary_key=True, related_name="embedding")
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="embeddings", db_index=False)
    model = models.CharField(max_length=200)
    dims = models.PositiveIntegerField()
    vector = models.BinaryField()

    class Meta:
        indexes = [
            # Read by recall: one bank's vectors of the current model.
            models.Index(name="embedding_by_bank", fields=["bank", "model", "dims"]),
        ]

    def __str__(self) -> str:
        return f"vector of output {self.pk}"
