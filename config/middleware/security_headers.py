"""Security headers of every page: Content-Security-Policy and no caching."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

#: Pages load files of this site only; the admin's icons are data URLs.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def security_headers_middleware(
    answer: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Add the headers to pages. Must come after the static files middleware, because static files may be cached."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        return add_security_headers(answer(request))

    return answered


def add_security_headers(response: HttpResponseBase) -> HttpResponseBase:
    """Add these headers unless the response already has them."""
    if not (settings.DEBUG and response.status_code >= 400):  # Django's debug pages use inline styles and scripts
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response
