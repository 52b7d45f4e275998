"""What admins of lists are made of: no lookups but those of their own filters; nothing to add, change or delete."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from memorybank.admin.addresses import PubliclyAddressed


class Discreet(PubliclyAddressed):
    """Lookups come from the links of its filters. Any other one, as ``?title__startswith=``, is answered with 400.

    A free one spells out, letter by letter, what is not shown.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Whether a link of this list could say so."""
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


class LookedAt(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Nobody adds, changes or deletes here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
