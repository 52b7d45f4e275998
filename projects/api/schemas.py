"""Types shared by requests and responses: chat keys, row numbers, pages, with their JSON schemas."""

import re
from datetime import date
from typing import Annotated, Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404
from django.urls import get_script_prefix
from ninja import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    WithJsonSchema,
)

from memorybank import services
from memorybank.services import PublicId
from projects.web.converters import ChatKey
from projects.web.pagination import page_after
from projects.web.refusal_texts import StrictFields

from .problems import Problem

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")

PUBLIC_ID = PublicId()
#: The description of the field ``reported`` of lines.
REPORTED = "It is told in its speaker's name and in quotes, which `text` has not: `ann says “…”`."
CHAT_KEY_CONVERTER = ChatKey()
#: Characters that databases reject.
UNSTORABLE_CHARACTERS = re.compile("[\x00\ud800-\udfff]")
MAX_PAGE_ROWS, DEFAULT_PAGE_ROWS = 200, 50


def _storable(text: str) -> str:
    if UNSTORABLE_CHARACTERS.search(text):
        raise ValueError("a NUL character or half a surrogate pair is not text")
    return text


class Body(StrictFields):
    """A request body."""


StorableText = Annotated[str, AfterValidator(_storable)]
#: The chat's key, chosen by the program.
ChatKeyText = Annotated[StorableText, Field(min_length=1, max_length=200, examples=["c-17"])]
#: A row's public id.
PublicIdOut = Annotated[str, Field(pattern=r"^[a-z2-7]{13}$", examples=["p3zkqv5q7h2fy"])]
#: A row's public id in a path; an invalid one gives a 404.
PublicIdIn = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[a-z2-7]{13}$"})]
#: A chat's key in a path.
ChatIn = Annotated[
    str,
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^~?[-a-zA-Z0-9_]+$",
            "description": "The key if it is a plain word, else “~” and its base64url. Responses contain it in `url`.",
        }
    ),
]
Cursor = Annotated[str, Query("", max_length=100, description="`next` of the previous page; empty: the first page.")]
Limit = Annotated[int, Query(DEFAULT_PAGE_ROWS, ge=1, le=MAX_PAGE_ROWS, description="Rows per page.")]


MetadataValue = (
    Annotated[StorableText, Field(max_length=services.MAX_METADATA_VALUE)] | StrictBool | StrictInt | StrictFloat | None
)
#: Labels that the client application chooses: a few short names with values.
MetadataIn = Annotated[
    dict[
        Annotated[StorableText, Field(min_length=1, max_length=services.MAX_METADATA_NAME)],
        MetadataValue,
    ],
    Field(max_length=services.MAX_METADATA_ENTRIES, examples=[{"ticket": "T-17"}]),
]
_LABELS: TypeAdapter[dict[str, Any]] = TypeAdapter(MetadataIn)
From = Annotated[
    date | None, Query(None, alias="from", description="The first day, from its start in the project's time zone.")
]
To = Annotated[date | None, Query(None, alias="to", description="The last day, until its end.")]
Author = Annotated[StorableText, Query("", max_length=200, description="Turns of this author, or that quote them.")]
OfChat = Annotated[StorableText, Query("", max_length=200, description="The key of a chat.")]
Metadata = Annotated[
    str,
    Query(
        "",
        max_length=4_000,
        description="What a turn's metadata must contain, as a JSON object.",
        examples=['{"ticket": "T-17"}'],
    ),
]


class Page(BaseModel, Generic[Item]):
    """One page of a list. New rows do not shift the pages."""

    items: list[Item]
    next: str | None = Field(None, description="The cursor of the next page; null: this is the last one.")


def labels(text: str) -> dict[str, Any]:
    """Parse the query parameter ``metadata``; raise :class:`Problem` (422) if it is not valid metadata."""
    try:
        return _LABELS.validate_json(text) if text else {}
    except ValueError:
        raise Problem(
            422, "metadata: must be a JSON object of names with texts, numbers or booleans.", "metadata"
        ) from None


def row_id_in_path(name: str) -> int:
    """The primary key for a public id in a path; 404 if it is invalid."""
    try:
        return PUBLIC_ID.to_python(name)
    except ValueError:
        raise Http404 from None


def row_id_in_body(name: str, pointer: str) -> int:
    """The primary key for a public id in a body; :class:`Problem` at ``pointer`` if it is invalid."""
    try:
        return PUBLIC_ID.to_python(name)
    except ValueError:
        raise Problem(422, f"{pointer}: not found.", pointer) from None


def chat_key(name: str) -> str:
    """The key of a chat in a path; 404 if it is invalid."""
    try:
        key = CHAT_KEY_CONVERTER.to_python(name)
        if CHAT_KEY_CONVERTER.to_url(key) == name and "\x00" not in key:
            return key
    except ValueError:
        pass
    raise Http404


def page_of(rows: QuerySet[Row], cursor: str, limit: int, *, order: str = "-pk") -> tuple[list[Row], str | None]:
    """A page of ``rows``, and the cursor of the next one; :class:`Problem` for an invalid cursor."""
    try:
        return page_after(rows, cursor, limit, order=order)
    except ValueError:
        raise Problem(422, "cursor: not a `next` of a page.", "cursor") from None


def api_url(*parts: str) -> str:
    """The path of an API URL on this site, such as ``/api/v1/jobs/p3zkqv5q7h2fy``."""
    return "/".join((f"{get_script_prefix()}api/v1", *parts))
