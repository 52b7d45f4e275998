"""Base classes of list admins: lookups only through their own filters; nothing to add, change or delete."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from memorybank.admin.addresses import PubliclyAddressed


class RestrictedLookupsAdmin(PubliclyAddressed):
    """Accepts only the lookups of its filters' links. Any other, such as ``?title__startswith=``, gets a 400.

    A free lookup would reveal hidden text letter by letter.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Whether a link of this list could contain the lookup."""
        text = str(value)
        if lookup in {f"{self.date_hierarchy}__{part}" for part in ("year", "month", "day")}:
            return text.isascii() and text.isdigit() and len(text) <= 4
        return lookup in self._of_filters() and "\x00" not in text

    def _of_filters(self) -> Iterator[str]:
        for each in self.list_filter:
            if isinstance(each, str):
                yield from (each, f"{each}__exact", f"{each}__isnull")
            elif isinstance(each, type) and issubclass(each, admin.SimpleListFilter):
                yield str(each.parameter_name)
            elif isinstance(each, tuple):  # by a related row
                yield from (f"{each[0]}__id__exact", f"{each[0]}__isnull")


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Nobody adds, changes or deletes here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
