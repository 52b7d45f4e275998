"""URL patterns whose module is imported by the first request to one of them; pages never need it.

This overrides two private hooks of Django: ``URLResolver._populate`` and the caches that ``reverse`` reads. Django has
no public way to leave names out of ``reverse``. A test (``test_lazy_urls``) fails if a new Django loads the module
early, or cannot resolve its patterns.
"""

from typing import Any

from django.urls import URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.datastructures import MultiValueDict


class LazyInclude(URLResolver):
    """The patterns of the module ``urlconf`` below ``prefix``. They cannot be reversed by name."""

    def __init__(self, prefix: str, urlconf: str) -> None:
        super().__init__(RoutePattern(prefix), urlconf)

    reverse_dict: MultiValueDict[str, Any] = MultiValueDict()
    namespace_dict: dict[str, tuple[str, URLResolver]] = {}
    app_dict: dict[str, list[str]] = {}

    def _populate(self) -> None:
        """Do nothing: Django would import the module here when the first page reverses a name."""
