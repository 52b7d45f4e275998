"""Pagination: numbered pages for people, and cursor pages for lists that grow meanwhile."""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from memorybank.services import PublicId

Row = TypeVar("Row", bound=Model)


def numbered_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int) -> Page[Any]:
    """The page that ``?page=`` asks for; the first or the last one if there is no such page."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def page_after(rows: QuerySet[Row], cursor: str, size: int, *, order: str = "-pk") -> tuple[list[Row], str | None]:
    """The rows after ``cursor`` ("": from the start), and the cursor of the next page, None on the last one.

    ``order`` is a unique field, with a minus sign for descending order.

    Raises ValueError for an invalid cursor.
    """
    name = order.removeprefix("-")
    if cursor:
        rows = rows.filter(**{f"{name}__gt" if name == order else f"{name}__lt": PublicId().to_python(cursor)})
    page = list(rows.order_by(order)[: size + 1])
    return page[:size], PublicId().to_url(getattr(page[size - 1], name)) if len(page) > size else None
