"""Compress pages and JSON, but no streams: compression would buffer and delay their words."""

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class Compression(GZipMiddleware):
    """Django's middleware, which also adds random bytes against attacks on compressed secrets (BREACH)."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """The response, compressed if that makes it smaller."""
        return response if response.streaming else super().process_response(request, response)
