"""Every address of the API, each behind the same door and with the same answers to what goes wrong."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path, re_path
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI

from . import chats, erasure, facts, jobs, memory, outputs, problems, project
from .auth import key_in
from .openapi import described
from .parsers import JSONParser

api = NinjaAPI(
    title="Memory Bank",
    version="1",
    urls_namespace="api",
    openapi_url=None,
    docs_url=None,
    auth=key_in,
    parser=JSONParser(),
)
problems.install(api)
for part in (outputs, chats, facts, memory, jobs, erasure, project):
    api.add_router("", part.router)


def _guarded(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """In English, whatever a browser prefers, and with the refusal of a method as a problem, too."""

    @csrf_exempt  # no cookie is looked at, so nobody's browser can be made to ask
    @wraps(view)
    def answered(request: HttpRequest, **values: Any) -> HttpResponseBase:
        with override("en"):
            response = view(request, **values)
        if response.status_code == 405:
            allowed = response.headers["Allow"]
            response = problems.told(405, f"Here is answered: {allowed}.")
            response.headers["Allow"] = allowed
        return response

    return answered


def _addresses() -> list[URLPattern]:
    """One for all methods of an address, where ninja has one for each."""
    found: dict[str, URLPattern] = {}
    for pattern in api.urls[0]:
        if isinstance(pattern, URLPattern) and pattern.name != "api-root":  # ninja's own
            pattern.callback = _guarded(pattern.callback)
            found.setdefault(str(pattern.name), pattern)
    return list(found.values())


def description(request: HttpRequest) -> HttpResponse:
    """The API in OpenAPI's words; for everybody."""
    if request.method not in ("GET", "HEAD"):
        refused = problems.told(405, "Here is answered: GET, HEAD.")
        refused.headers["Allow"] = "GET, HEAD"
        return refused
    return JsonResponse(described(api))


def nowhere(request: HttpRequest, **values: Any) -> HttpResponse:
    """Whatever is no address of the API."""
    return problems.ANSWERS[Http404](request, Http404())


urlpatterns = [
    *_addresses(),
    path("openapi.json", csrf_exempt(description), name="api-description"),
    re_path("", csrf_exempt(nowhere), name="api-nowhere"),
]
