"""Compress pages and JSON. Streams are left alone: compressed, their words would wait for one another."""

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class Compression(GZipMiddleware):
    """Django's, which also adds random bytes against attacks on compressed secrets (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response, compressed if that makes it smaller."""
        return response if response.streaming else super().process_response(request, response)
