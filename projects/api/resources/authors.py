"""The endpoint that lists the people who wrote in the project's chats."""

from datetime import datetime

from django.db.models import Q
from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, Field

from memorybank import services
from projects.api.auth import bank_of
from projects.api.schemas import Cursor, Limit, Page, page_of

from .chats import program_chats

router = Router(tags=["chats"])


class AuthorOut(BaseModel):
    """An author, with the number of their turns and the times of the first and the last."""

    author: str
    turns: int
    first_at: datetime
    last_at: datetime
    opted_out: bool = Field(description="Memory does not use their turns.")


@router.get("/authors", response=Page[AuthorOut], url_name="api-authors", summary="List authors")
def authors(request: HttpRequest, cursor: Cursor, limit: Limit) -> Page[AuthorOut]:
    """People who wrote in shared chats, or in private chats that programs recorded and the request may read."""
    bank = bank_of(request)
    chats = services.chats_of(bank).filter(Q(private=False) | Q(pk__in=program_chats(request).values("pk")))
    rows, after = page_of(services.authors_of(bank, chats), cursor, limit, order="first")
    out = services.opted_out(bank, [row.author for row in rows])
    names = ("author", "turns", "first_at", "last_at")
    return Page(
        items=[AuthorOut(opted_out=row.author in out, **{name: getattr(row, name) for name in names}) for row in rows],
        next=after,
    )
