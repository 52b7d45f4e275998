"""Base classes of list admins: lookups only through their own filters; nothing to add, change or delete."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from memorybank.admin.addresses import PubliclyAddressed


def never(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """A permission method of an admin class."""
    return False


class RestrictedLookupsAdmin(PubliclyAddressed):
    """Accepts only the lookups of its filters' links. Any other, such as ``?title__startswith=``, gets a 400.

    A free lookup would reveal hidden text letter by letter.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Whether a link of this list could contain the lookup."""
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
            elif isinstance(item, tuple):  # by a related row
                yield from (f"{item[0]}__id__exact", f"{item[0]}__isnull")


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Nobody adds, changes or deletes here."""

    has_add_permission = has_change_permission = has_delete_permission = never
