"""Addresses whose code is loaded by the first request to one of them: no page needs what only programs ask for."""

from typing import Any

from django.urls import URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.datastructures import MultiValueDict


class Deferred(URLResolver):
    """What is at ``prefix`` as the module named ``urlconf`` has it. Its names are not for ``reverse``.

    Django asks every resolver for its names when the first page writes a link; that would load the module.
    """

    def __init__(self, prefix: str, urlconf: str) -> None:
        super().__init__(RoutePattern(prefix), urlconf)

    reverse_dict: MultiValueDict[str, Any] = MultiValueDict()
    namespace_dict: dict[str, tuple[str, URLResolver]] = {}
    app_dict: dict[str, list[str]] = {}

    def _populate(self) -> None:
        """Nothing, for the reason above."""
