"""The values that requests and answers are made of: keys, numbers of rows, pages. Each with what it looks like."""

import re
from typing import Annotated, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404
from django.urls import get_script_prefix
from ninja import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from memorybank.services import PublicId
from projects.web.converters import ChatKey
from projects.web.pagination import page_after

from .problems import Problem

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")

NUMBER = PublicId()
CHAT = ChatKey()
#: What no database holds.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
#: Rows of one page, at most and if nothing is said.
MOST, USUAL = 200, 50


def _storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise ValueError("a NUL character or half a surrogate pair is not text")
    return text


class Body(BaseModel):
    """What is sent. A field that is not known is refused, so that no misspelt one is lost."""

    model_config = ConfigDict(extra="forbid")


Words = Annotated[str, AfterValidator(_storable)]
#: The outer application's name of a chat.
Key = Annotated[Words, Field(min_length=1, max_length=200, examples=["c-17"])]
#: A row's number as it leaves the site.
NumberOut = Annotated[str, Field(pattern=r"^[a-z2-7]{13}$", examples=["p3zkqv5q7h2fy"])]
#: The same in a path: whatever is none is not found.
NumberIn = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[a-z2-7]{13}$"})]
#: A chat's key in a path.
ChatIn = Annotated[
    str,
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^~?[-a-zA-Z0-9_]+$",
            "description": "Its key if that is a plain word, else “~” and base64url of it: answers say it in `url`.",
        }
    ),
]
Cursor = Annotated[str, Query("", max_length=100, description="`next` of the page before; empty: the first page.")]
Limit = Annotated[int, Query(USUAL, ge=1, le=MOST, description="Rows of a page.")]


class Page(BaseModel, Generic[Item]):
    """A part of a list. What comes in meanwhile shifts no page."""

    items: list[Item]
    next: str | None = Field(None, description="The cursor of the next page; null: this is the last one.")


def row_number(name: str) -> int:
    """The row that a number in a path stands for; not found if it is none."""
    try:
        return NUMBER.to_python(name)
    except ValueError:
        raise Http404 from None


def row_in_body(name: str, pointer: str) -> int:
    """The row that a number in a body stands for; refused at ``pointer`` if it is none."""
    try:
        return NUMBER.to_python(name)
    except ValueError:
        raise Problem(422, f"{pointer}: there is no such row.", pointer) from None


def chat_key(name: str) -> str:
    """The key of a chat in a path; not found if nothing has this address."""
    try:
        key = CHAT.to_python(name)
        if CHAT.to_url(key) == name and "\x00" not in key:
            return key
    except ValueError:
        pass
    raise Http404


def paged(rows: QuerySet[Row], cursor: str, limit: int, *, order: str = "-pk") -> tuple[list[Row], str | None]:
    """A page of ``rows``, and the cursor of the next one; :class:`Problem` for a cursor that no page has given."""
    try:
        return page_after(rows, cursor, limit, order=order)
    except ValueError:
        raise Problem(422, "cursor: is no `next` of a page.", "cursor") from None


def address(*parts: str) -> str:
    """The address of something of the API on this site."""
    return "/".join((f"{get_script_prefix()}api/v1", *parts))
