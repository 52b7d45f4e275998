"""Headers of every page: what it may load, and that nobody keeps a copy of it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

#: All that pages need is files of this site; the admin's own icons are data.
CONTENT = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def guarded(answer: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware, behind the one that serves static files: those may be kept."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        return guard(answer(request))

    return answered


def guard(response: HttpResponseBase) -> HttpResponseBase:
    """The response with these headers, where it says nothing else."""
    if not (settings.DEBUG and response.status_code >= 400):  # Django's own reports are written in the page
        response.headers.setdefault("Content-Security-Policy", CONTENT)
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response
