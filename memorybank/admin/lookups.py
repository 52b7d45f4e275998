"""Base classes of admins: only the lookups of their own filters, and no adding, changing or deleting."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from memorybank.admin.addresses import PubliclyAddressed


def never(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """A permission method of an admin class that always denies."""
    return False


class RestrictedLookupsAdmin(PubliclyAddressed):
    """Accepts only lookups that its own filters link to; any other, such as ``?title__startswith=``, gets a 400.

    Arbitrary lookups would reveal hidden text letter by letter.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Whether one of this list's filters could have made the lookup."""
        text = str(value)
        if lookup in {f"{self.date_hierarchy}__{part}" for part in ("year", "month", "day")}:
            return text.isascii() and text.isdigit() and len(text) <= 4
        return lookup in self._filter_lookups() and "\x00" not in text

    def _filter_lookups(self) -> Iterator[str]:
        for item in self.list_filter:
            if isinstance(item, str):
                yield from (item, f"{item}__exact", f"{item}__isnull")
            elif isinstance(item, type) and issubclass(item, admin.SimpleListFilter):
                yield str(item.parameter_name)
            elif isinstance(item, tuple):  # a filter by a related row
                yield from (f"{item[0]}__id__exact", f"{item[0]}__isnull")


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """An admin in which nobody can add, change or delete rows."""

    has_add_permission = has_change_permission = has_delete_permission = never
