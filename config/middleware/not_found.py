"""Show the site's own page for addresses that do not exist where DEBUG is on, as in the demo, instead of Django's."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.defaults import page_not_found


class NotFoundMiddleware:
    """Answer with the page that visitors see with DEBUG off. Must be the last middleware."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._answer(request)
        is_unknown = response.status_code == 404 and request.resolver_match is None
        return page_not_found(request, Http404()) if is_unknown else response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a view that found nothing."""
        return page_not_found(request, exception) if isinstance(exception, Http404) else None
