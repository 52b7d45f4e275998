"""Forgetting: what would go, the deed, its receipt."""

from datetime import datetime
from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Erasure

from .auth import bank_of, key_of
from .problems import Problem
from .schemas import NUMBER, Body, Cursor, Key, Limit, NumberIn, NumberOut, Page, Words, paged, row_in_body, row_number

router = Router(tags=["forgetting"])

#: Facts of one request.
MOST = 200


class Forgetting(Body):
    """What is to be forgotten: exactly one of a chat, an author, an output, or facts with the turns they rest on."""

    chat: Key | None = None
    author: Annotated[Words, Field(min_length=1, max_length=200)] | None = None
    output: str | None = Field(None, description="The number of an output.")
    facts: list[str] | None = Field(None, min_length=1, max_length=MOST, description="Numbers of facts.")
    dry_run: StrictBool = Field(False, description="Say what would go, and erase nothing.")


class ReceiptOut(BaseModel):
    """How much went, when, by whom; never what. Nothing brings it back."""

    id: NumberOut | None = Field(description="null: a dry run.")
    kind: str
    asked_by: str
    at: datetime
    dry_run: bool
    counts: dict[str, int]


@router.post("/forget", response=ReceiptOut, url_name="api-forget", summary="Forget, with all that was made of it")
def forget(request: HttpRequest, body: Forgetting) -> ReceiptOut:
    """What others said stays; where a model wrote the lines, it is asked anew by the next sweep."""
    named = {name for name in ("chat", "author", "output", "facts") if getattr(body, name) is not None}
    if len(named) != 1:
        raise Problem(422, "Name one of chat, author, output, facts.")
    receipt = services.forget(
        bank_of(request),
        chat=body.chat,
        author=body.author,
        output=None if body.output is None else row_in_body(body.output, "/output"),
        facts=_facts(request, body.facts),
        actor=key_of(request).actor,
        dry_run=body.dry_run,
    )
    number = None if receipt.id is None else NUMBER.to_url(receipt.id)
    names = ("kind", "asked_by", "at", "dry_run", "counts")
    return ReceiptOut(id=number, **{name: getattr(receipt, name) for name in names})


@router.get("/receipts", response=Page[ReceiptOut], url_name="api-receipts", summary="List receipts, newest first")
def receipts(request: HttpRequest, cursor: Cursor, limit: Limit) -> Page[ReceiptOut]:
    found, after = paged(services.erasures_of(bank_of(request)), cursor, limit)
    return Page(items=[_told(row) for row in found], next=after)


@router.get("/receipts/{receipt}", response=ReceiptOut, url_name="api-receipt", summary="Look at a receipt")
def receipt(request: HttpRequest, receipt: NumberIn) -> ReceiptOut:
    row = services.erasures_of(bank_of(request)).filter(pk=row_number(receipt)).first()
    if row is None:
        raise Http404
    return _told(row)


def _told(row: Erasure) -> ReceiptOut:
    names = ("kind", "asked_by", "at", "counts")
    return ReceiptOut(id=NUMBER.to_url(row.pk), dry_run=False, **{name: getattr(row, name) for name in names})


def _facts(request: HttpRequest, names: list[str] | None) -> list[int] | None:
    """The rows of facts that may be looked at; :class:`Problem` for any other."""
    if names is None:
        return None
    numbers = [row_in_body(name, f"/facts/{at}") for at, name in enumerate(names)]
    known = set(services.browse(bank_of(request)).filter(pk__in=numbers).values_list("pk", flat=True))
    for at, number in enumerate(numbers):
        if number not in known:
            raise Problem(422, f"/facts/{at}: there is no such row.", f"/facts/{at}")
    return numbers
