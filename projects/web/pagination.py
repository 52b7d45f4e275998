"""Pages of a list: numbered ones for people, and ones that continue after a row for lists that grow meanwhile."""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from .public_ids import TurnNumber

Row = TypeVar("Row", bound=Model)


def numbered_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int) -> Page[Any]:
    """The page that ``?page=`` asks for; the first or the last one if there is no such page."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def page_after(
    rows: QuerySet[Row], cursor: str, size: int, *, newest_first: bool = True
) -> tuple[list[Row], str | None]:
    """The rows after ``cursor`` ("": from the start), and the cursor of the next page, None on the last one.

    Raises ValueError for a cursor that no page has given.
    """
    if cursor:
        last = TurnNumber().to_python(cursor)
        rows = rows.filter(pk__lt=last) if newest_first else rows.filter(pk__gt=last)
    page = list(rows.order_by("-pk" if newest_first else "pk")[: size + 1])
    return page[:size], TurnNumber().to_url(page[size - 1].pk) if len(page) > size else None
