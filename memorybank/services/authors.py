"""The people who wrote in a bank's chats."""

from collections.abc import Collection
from typing import Any

from django.db.models import Count, Max, Min, QuerySet

from memorybank.models import Bank, OptOut, Output


def authors_of(bank: Bank, chats: QuerySet[Any]) -> QuerySet[Any, Any]:
    """A row per author in ``chats``: ``turns`` (count), ``first_at``, ``last_at``, ``first`` (id of the first turn)."""
    turns = Output.objects.filter(chat__bank=bank, chat__in=chats)
    rows = turns.remembered().exclude(author="").order_by().values("author")
    counted = rows.annotate(turns=Count("pk"), first=Min("pk"), first_at=Min("created_at"), last_at=Max("created_at"))
    return counted.values_list("author", "turns", "first", "first_at", "last_at", named=True)


def opted_out(bank: Bank, names: Collection[str]) -> set[str]:
    """The authors among ``names`` who have opted out, so that memory does not use their turns."""
    return set(OptOut.objects.filter(bank=bank, author__in=names, until=None).values_list("author", flat=True))
