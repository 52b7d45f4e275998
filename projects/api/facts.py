"""Entries and facts: what memory holds, each fact with the turns that it rests on; and what is decided about facts."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Query, Router, Status
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Bank, Entry, Fact, Granularity

from ..models import Scope
from .auth import bank_of, key_of
from .schemas import NUMBER, Body, Cursor, Limit, NumberIn, NumberOut, Page, Words, paged, row_number

router = Router(tags=["memory"])

From = Annotated[date | None, Query(None, alias="from", description="The first day, in the project's time zone.")]
To = Annotated[date | None, Query(None, alias="to", description="The last day.")]
Asked = Annotated[
    Words, Query("", max_length=1000, description="Facts about this, the best first, in one page of at most 200.")
]


class EntryOut(BaseModel):
    """A summary: of one stretch of a chat (conversation), or of a day, a week or a month."""

    id: NumberOut
    granularity: Granularity
    period_start: date
    chat: str | None = Field(description="The key of its chat; null: it is a digest.")
    parent: NumberOut | None = Field(description="The digest that absorbed it; null: it is live.")
    outputs: int = Field(description="Turns that it covers.")
    first_at: datetime
    last_at: datetime
    tokens: int
    method: str = Field(description="Model and prompt version, or how without a model.")

    @classmethod
    def of(cls, row: Entry) -> "EntryOut":
        """From its row."""
        names = ("period_start", "first_at", "last_at", "tokens", "method")
        return cls(
            id=NUMBER.to_url(row.pk),
            granularity=Granularity(row.granularity),
            chat=row.chat.key if row.chat else None,
            parent=NUMBER.to_url(row.parent_id) if row.parent_id else None,
            outputs=row.output_count,
            **{name: getattr(row, name) for name in names},
        )


class Citation(BaseModel):
    """A turn that a fact rests on, without its words."""

    output: NumberOut
    chat: str
    author: str
    at: datetime


class FactOut(BaseModel):
    """A line of memory. Without the scope `admin` none is hidden or held back."""

    id: NumberOut
    kind: Fact.Kind
    text: str
    speaker: str
    said_on: date
    entry: NumberOut
    pinned: bool
    hidden: bool
    held_back: str = Field(description="Why it waits for a person, in words; empty: it does not.")
    edited_by: str = Field(description="Who put it right, or wrote it by hand.")
    replaced: bool = Field(description="A newer fact says that it is over.")
    citations: list[Citation]

    @classmethod
    def of(cls, row: Fact, origins: Collection[services.Origin]) -> "FactOut":
        """From its row and what it rests on."""
        names = ("text", "speaker", "said_on", "pinned", "hidden", "edited_by")
        cited = [
            Citation(output=NUMBER.to_url(each.output), chat=each.chat_key, author=each.author, at=each.at)
            for each in origins
        ]
        return cls(
            id=NUMBER.to_url(row.pk),
            kind=Fact.Kind(row.kind),
            entry=NUMBER.to_url(row.entry_id),
            held_back=row.quarantine,
            replaced=row.superseded_by_id is not None,
            citations=cited,
            **{name: getattr(row, name) for name in names},
        )


class NewFact(Body):
    """A line written by hand; it stands under the name of the key."""

    text: Words = Field(examples=["Billing runs on Postgres 16."])
    kind: Fact.Kind = Fact.Kind.FACT
    pinned: StrictBool = Field(True, description="Always in the block.")


class FactChange(Body):
    """What is left out stays as it is."""

    text: Words | None = Field(None, description="Put right, for good; what was said first stays underneath.")
    pinned: StrictBool | None = None
    hidden: StrictBool | None = Field(None, description="true: in no prompt from now on; false: in prompts again.")


@router.get("/entries", response=Page[EntryOut], url_name="api-entries", summary="List entries, newest first")
def entries(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    granularity: Granularity | None = None,
    live: bool | None = None,
) -> Page[EntryOut]:
    """`live` are those that no digest has absorbed. None of private chats."""
    rows = _within(_entries(bank_of(request)), "period_start", since, until)
    rows = rows if granularity is None else rows.filter(granularity=granularity)
    rows = rows if live is None else rows.filter(parent__isnull=live)
    found, after = paged(rows, cursor, limit)
    return Page(items=[EntryOut.of(row) for row in found], next=after)


@router.get("/entries/{entry}", response=EntryOut, url_name="api-entry", summary="Look at an entry")
def entry(request: HttpRequest, entry: NumberIn) -> EntryOut:
    found = _entries(bank_of(request)).filter(pk=row_number(entry)).first()
    if found is None:
        raise Http404
    return EntryOut.of(found)


@router.get("/facts", response=Page[FactOut], url_name="api-facts", summary="List facts, newest first, or find some")
def facts(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    about: Asked,
    kind: Fact.Kind | None = None,
    entry: NumberIn | None = None,
) -> Page[FactOut]:
    """Each once, with the turns that it rests on. None of private chats."""
    bank = bank_of(request)
    rows = _within(_readable(request), "said_on", since, until)
    rows = rows if kind is None else rows.filter(kind=kind)
    rows = rows if entry is None else rows.filter(entry=row_number(entry))
    if about.strip():
        rank = {pk: at for at, pk in enumerate(services.find(bank, about))}
        ranked = sorted(rows.filter(pk__in=list(rank)), key=lambda fact: rank[fact.pk])
        return Page(items=_told(bank, ranked), next=None)
    found, after = paged(rows, cursor, limit)
    return Page(items=_told(bank, found), next=after)


@router.post("/facts", response={201: FactOut}, url_name="api-facts", summary="Write a fact by hand")
def add(request: HttpRequest, body: NewFact) -> Status[FactOut]:
    bank = bank_of(request)
    row = services.add(bank, text=body.text, kind=body.kind, pinned=body.pinned, actor=key_of(request).actor)
    return Status(201, _told(bank, [row])[0])


@router.get("/facts/{fact}", response=FactOut, url_name="api-fact", summary="Look at a fact")
def fact(request: HttpRequest, fact: NumberIn) -> FactOut:
    return _one(request, row_number(fact))


@router.patch("/facts/{fact}", response=FactOut, url_name="api-fact", summary="Put a fact right, pin it, hide it")
def change(request: HttpRequest, fact: NumberIn, body: FactChange) -> FactOut:
    """All of it, or nothing if one is refused. Who has a line put right has it so in every summary to come."""
    bank, number = bank_of(request), row_number(fact)
    _one(request, number)
    about: dict[str, Any] = {"fact_ids": [number], "actor": key_of(request).actor}
    with transaction.atomic():
        if body.text is not None:
            services.edit(bank, text=body.text, **about)
        if body.pinned is not None:
            (services.pin if body.pinned else services.unpin)(bank, **about)
        if body.hidden is not None:
            (services.hide if body.hidden else services.restore)(bank, **about)
    return _one(request, number)


def _entries(bank: Bank) -> QuerySet[Entry]:
    return services.entries_of(bank).select_related("chat")


def _readable(request: HttpRequest) -> Any:
    """What this key may see: what is hidden or held back is for who decides."""
    rows = services.browse(bank_of(request)).select_related("entry")
    return rows if key_of(request).opens(Scope.ADMIN) else rows.filter(hidden=False, quarantine="")


def _one(request: HttpRequest, number: int) -> FactOut:
    found = _readable(request).filter(pk=number).first()
    if found is None:
        raise Http404
    return _told(bank_of(request), [found])[0]


def _told(bank: Bank, rows: Collection[Fact]) -> list[FactOut]:
    origins = services.origins(bank, rows)
    return [FactOut.of(row, origins.get(row.pk, ())) for row in rows]


def _within(rows: Any, column: str, since: date | None, until: date | None) -> Any:
    rows = rows if since is None else rows.filter(**{f"{column}__gte": since})
    return rows if until is None else rows.filter(**{f"{column}__lte": until})
