"""Endpoints for erasing data: preview, erase, receipts."""

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import Field, StrictBool

from memorybank import services
from projects.api.auth import bank_of
from projects.api.problems import Problem
from projects.api.schemas import (
    Body,
    ChatKeyText,
    Cursor,
    Limit,
    Page,
    PublicIdIn,
    StorableText,
    page_of,
    row_id_in_body,
    row_id_in_path,
)

from .receipts import ReceiptOut, erase

router = Router(tags=["forgetting"])

MAX_FACTS_PER_REQUEST = 200


class ForgetRequest(Body):
    """The target to erase: exactly one of a chat, an author, an output, or facts with the turns they cite."""

    chat: ChatKeyText | None = None
    author: Annotated[StorableText, Field(min_length=1, max_length=200)] | None = None
    output: str | None = Field(None, description="The number of an output.")
    facts: list[str] | None = Field(
        None, min_length=1, max_length=MAX_FACTS_PER_REQUEST, description="Numbers of facts."
    )
    dry_run: StrictBool = Field(False, description="Report what would be erased, and erase nothing.")


@router.post(
    "/forget", response=ReceiptOut, url_name="api-forget", summary="Erase data with everything derived from it"
)
def forget(request: HttpRequest, body: ForgetRequest) -> ReceiptOut:
    """What other people said is kept. The next sweep rebuilds the affected summaries that a model wrote."""
    named = {name for name in ("chat", "author", "output", "facts") if getattr(body, name) is not None}
    if len(named) != 1:
        raise Problem(422, "Name exactly one of chat, author, output, facts.")
    return erase(
        request,
        chat=body.chat,
        author=body.author,
        output=None if body.output is None else row_id_in_body(body.output, "/output"),
        facts=_fact_pks(request, body.facts),
        dry_run=body.dry_run,
    )


@router.get("/receipts", response=Page[ReceiptOut], url_name="api-receipts", summary="List receipts, newest first")
def receipts(request: HttpRequest, cursor: Cursor, limit: Limit) -> Page[ReceiptOut]:
    rows, after = page_of(services.erasures_of(bank_of(request)), cursor, limit)
    return Page(items=[ReceiptOut.of(row) for row in rows], next=after)


@router.get("/receipts/{receipt}", response=ReceiptOut, url_name="api-receipt", summary="Get a receipt")
def receipt(request: HttpRequest, receipt: PublicIdIn) -> ReceiptOut:
    row = services.erasures_of(bank_of(request)).filter(pk=row_id_in_path(receipt)).first()
    if row is None:
        raise Http404
    return ReceiptOut.of(row)


def _fact_pks(request: HttpRequest, names: list[str] | None) -> list[int] | None:
    """The primary keys of readable facts; :class:`Problem` for any other id."""
    if names is None:
        return None
    numbers = [row_id_in_body(name, f"/facts/{index}") for index, name in enumerate(names)]
    known = set(services.browse(bank_of(request)).filter(pk__in=numbers).values_list("pk", flat=True))
    for index, number in enumerate(numbers):
        if number not in known:
            raise Problem(422, f"/facts/{index}: not found.", f"/facts/{index}")
    return numbers
