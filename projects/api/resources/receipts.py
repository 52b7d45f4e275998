"""Erase data and return the receipt: shared by `forget` and the DELETE endpoints."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from pydantic import BaseModel, Field

from memorybank import services
from memorybank.services import Erasure
from projects.api.auth import bank_of, key_of
from projects.api.schemas import PUBLIC_ID, PublicIdOut


class ReceiptOut(BaseModel):
    """A record of how much was erased, when and by whom, without content. Erasure cannot be undone."""

    id: PublicIdOut | None = Field(description="null: a dry run.")
    kind: str
    asked_by: str
    at: datetime
    dry_run: bool
    counts: dict[str, int]

    @classmethod
    def of(cls, row: Erasure) -> "ReceiptOut":
        names = ("kind", "asked_by", "at", "counts")
        return cls(id=PUBLIC_ID.to_url(row.pk), dry_run=False, **{name: getattr(row, name) for name in names})


def erase(request: HttpRequest, **target: Any) -> ReceiptOut:
    """Erase a target of :func:`services.erase` with everything derived from it."""
    receipt = services.erase(bank_of(request), actor=key_of(request).actor, **target)
    number = None if receipt.id is None else PUBLIC_ID.to_url(receipt.id)
    names = ("kind", "asked_by", "at", "dry_run", "counts")
    return ReceiptOut(id=number, **{name: getattr(receipt, name) for name in names})
