"""Endpoints for entries and facts: list, read, write, correct, pin and hide."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Query, Router, Status
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Entry, Fact, Granularity
from projects.api.auth import asker_of, bank_of, key_of
from projects.api.schemas import (
    PUBLIC_ID,
    REPORTED,
    Author,
    Body,
    Cursor,
    From,
    Limit,
    Metadata,
    MetadataIn,
    OfChat,
    Page,
    PublicIdIn,
    PublicIdOut,
    StorableText,
    To,
    labels,
    page_of,
    row_id_in_path,
)
from projects.models import Scope

from .receipts import ReceiptOut, erase

router = Router(tags=["memory"])

About = Annotated[
    StorableText,
    Query(
        "",
        max_length=1000,
        description="Search for facts about this, best first, in one page; its last word may be the beginning of one.",
    ),
]


class EntryOut(BaseModel):
    """A summary of one stretch of a chat (conversation), or of a day, a week or a month."""

    id: PublicIdOut
    granularity: Granularity
    period_start: date
    chat: str | None = Field(description="The key of its chat; null: it is a digest.")
    parent: PublicIdOut | None = Field(description="The digest that absorbed it; null: none.")
    outputs: int = Field(description="Turns that it covers.")
    first_at: datetime
    last_at: datetime
    tokens: int
    method: str = Field(description="Model and prompt version, or the method used without a model.")

    @classmethod
    def of(cls, row: Entry) -> "EntryOut":
        names = ("period_start", "first_at", "last_at", "tokens", "method")
        return cls(
            id=PUBLIC_ID.to_url(row.pk),
            granularity=Granularity(row.granularity),
            chat=row.chat.key if row.chat else None,
            parent=PUBLIC_ID.to_url(row.parent_id) if row.parent_id else None,
            outputs=row.output_count,
            **{name: getattr(row, name) for name in names},
        )


class Citation(BaseModel):
    """A turn that a fact cites, without its text."""

    output: PublicIdOut
    chat: str
    author: str
    at: datetime
    metadata: dict[str, Any]


class FactOut(BaseModel):
    """A line of memory. Lines that may not be shown need the scope `admin`."""

    id: PublicIdOut
    kind: Fact.Kind
    text: str
    speaker: str
    reported: bool = Field(description=REPORTED)
    said_on: date
    entry: PublicIdOut
    pinned: bool
    hidden: bool
    held_back: str = Field(description="Why it is quarantined until a person reviews it; empty: it is not.")
    edited_by: str = Field(description="Who corrected it or wrote it by hand.")
    replaced: bool = Field(description="A newer fact supersedes it.")
    citations: list[Citation]

    @classmethod
    def of(cls, row: Fact, origins: Collection[services.Origin]) -> "FactOut":
        names = ("text", "speaker", "said_on", "pinned", "hidden", "edited_by")
        cited = [
            Citation(
                output=PUBLIC_ID.to_url(origin.output),
                chat=origin.chat_key,
                author=origin.author,
                at=origin.at,
                metadata=dict(origin.metadata),
            )
            for origin in origins
        ]
        return cls(
            id=PUBLIC_ID.to_url(row.pk),
            kind=Fact.Kind(row.kind),
            entry=PUBLIC_ID.to_url(row.entry_id),
            reported=row.is_report,
            held_back=row.quarantine,
            replaced=row.replaced_for_all is not None,
            citations=cited,
            **{name: getattr(row, name) for name in names},
        )


class NewFact(Body):
    """A line written by hand, attributed to the key."""

    text: StorableText = Field(examples=["Billing runs on Postgres 16."])
    kind: Fact.Kind = Fact.Kind.FACT
    pinned: StrictBool = Field(True, description="Always include it in the block.")
    metadata: MetadataIn = Field({}, description="Labels of the turn that it becomes; no model reads them.")


class FactChange(Body):
    """Changes to a fact. Omitted fields stay unchanged."""

    text: StorableText | None = Field(
        None, description="The corrected text. Later summaries use it; the original stays stored."
    )
    pinned: StrictBool | None = None
    hidden: StrictBool | None = Field(None, description="true: use it in no prompt; false: use it again.")


@router.get("/entries", response=Page[EntryOut], url_name="api-entries", summary="List entries, newest first")
def entries(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    chat: OfChat,
    granularity: Granularity | None = None,
    live: bool | None = None,
) -> Page[EntryOut]:
    """`live`: entries that no digest has absorbed. Entries of private chats are listed for their readers only."""
    rows = _within(_entries(request), "period_start", since, until)
    rows = rows if granularity is None else rows.filter(granularity=granularity)
    rows = rows if live is None else rows.filter(parent__isnull=live)
    rows = rows.filter(chat__key=chat) if chat else rows
    page, after = page_of(rows, cursor, limit)
    return Page(items=[EntryOut.of(row) for row in page], next=after)


@router.get("/entries/{entry}", response=EntryOut, url_name="api-entry", summary="Get an entry")
def entry(request: HttpRequest, entry: PublicIdIn) -> EntryOut:
    row = _entries(request).filter(pk=row_id_in_path(entry)).first()
    if row is None:
        raise Http404
    return EntryOut.of(row)


@router.get("/facts", response=Page[FactOut], url_name="api-facts", summary="List facts, newest first, or search them")
def facts(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    about: About,
    author: Author,
    chat: OfChat,
    metadata: Metadata,
    kind: Fact.Kind | None = None,
    entry: PublicIdIn | None = None,
) -> Page[FactOut]:
    """Facts with the turns that they cite. Facts of private chats are listed for their readers only."""
    bank = bank_of(request)
    rows = _within(readable_facts(request), "said_on", since, until)
    rows = rows if kind is None else rows.filter(kind=kind)
    rows = rows if entry is None else rows.filter(entry=row_id_in_path(entry))
    if turns := services.TurnFilter(author=author, chat=chat, metadata=labels(metadata)):
        rows = turns.facts(bank, rows)
    if about.strip():
        found = services.search_facts(bank_of(request), about, viewer=asker_of(request).person)
        rank = {fact.pk: position for position, fact in enumerate(found)}
        ranked = sorted(rows.filter(pk__in=list(rank)), key=lambda fact: rank[fact.pk])
        return Page(items=_facts_out(request, ranked), next=None)
    page, after = page_of(rows, cursor, limit)
    return Page(items=_facts_out(request, page), next=after)


@router.post("/facts", response={201: FactOut}, url_name="api-facts", summary="Write a fact by hand")
def create_fact(request: HttpRequest, body: NewFact) -> Status[FactOut]:
    """A text that reads like an instruction to a model is quarantined until a person reviews it, as in a chat."""
    bank = bank_of(request)
    row = services.add_fact(bank, **body.model_dump(), screened=True, actor=key_of(request).actor)
    return Status(201, _facts_out(request, [row])[0])


@router.get("/facts/{fact}", response=FactOut, url_name="api-fact", summary="Get a fact")
def fact(request: HttpRequest, fact: PublicIdIn) -> FactOut:
    return _get_fact(request, row_id_in_path(fact))


@router.patch("/facts/{fact}", response=FactOut, url_name="api-fact", summary="Correct, pin or hide a fact")
def update_fact(request: HttpRequest, fact: PublicIdIn, body: FactChange) -> FactOut:
    """Makes all changes, or none if one is refused. Later summaries use the corrected text.

    A text that reads like an instruction to a model is quarantined until a person reviews it.
    """
    bank, number = bank_of(request), row_id_in_path(fact)
    _get_fact(request, number)
    about: dict[str, Any] = {"fact_ids": [number], "actor": key_of(request).actor}
    with transaction.atomic():
        if body.text is not None:
            services.edit_facts(bank, text=body.text, screened=True, **about)
        if body.pinned is not None:
            (services.pin if body.pinned else services.unpin)(bank, **about)
        if body.hidden is not None:
            (services.hide if body.hidden else services.restore)(bank, **about)
    return _get_fact(request, number)


@router.delete(
    "/facts/{fact}", response=ReceiptOut, url_name="api-fact", summary="Erase a fact with the turns that it cites"
)
def delete_fact(request: HttpRequest, fact: PublicIdIn) -> ReceiptOut:
    """Like `forget` with this fact. To keep the turns, hide it."""
    number = row_id_in_path(fact)
    _get_fact(request, number)
    return erase(request, facts=[number])


def _entries(request: HttpRequest) -> QuerySet[Entry]:
    viewer = asker_of(request).person
    return services.entries_of(bank_of(request), viewer=viewer).select_related("chat")


def readable_facts(request: HttpRequest) -> Any:
    """The facts that this key may read; hidden and quarantined ones need the scope ``admin``."""
    rows = services.browse(bank_of(request), viewer=asker_of(request).person)
    rows = rows.select_related("entry", "superseded_by__entry__chat")
    return rows if key_of(request).opens(Scope.ADMIN) else rows.may_be_shown()


def _get_fact(request: HttpRequest, number: int) -> FactOut:
    row = readable_facts(request).filter(pk=number).first()
    if row is None:
        raise Http404
    return _facts_out(request, [row])[0]


def _facts_out(request: HttpRequest, rows: Collection[Fact]) -> list[FactOut]:
    origins = services.origins(bank_of(request), rows, viewer=asker_of(request).person)
    return [FactOut.of(row, origins.get(row.pk, ())) for row in rows]


def _within(rows: Any, column: str, since: date | None, until: date | None) -> Any:
    rows = rows if since is None else rows.filter(**{f"{column}__gte": since})
    return rows if until is None else rows.filter(**{f"{column}__lte": until})
