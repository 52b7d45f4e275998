"""URLs of the API, all with the same authentication and error format."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path, re_path
from django.utils.translation import override
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI

from ..models import APIKey
from . import problems
from .auth import authenticate, refuse_unknown_parameters
from .openapi import openapi_document, query_parameters
from .parsers import JSONParser
from .resources import (
    authors,
    chats,
    erasure,
    export,
    fact_history,
    facts,
    jobs,
    memory,
    outputs,
    project,
    provisioning,
    ratings,
    webhooks,
)


def _admit(request: HttpRequest) -> APIKey:
    """Authenticate a request by its API key, and refuse unknown query parameters."""
    key = authenticate(request)
    refuse_unknown_parameters(request, lambda: query_parameters(api))
    return key


def _admit_operator(request: HttpRequest) -> str:
    """Authenticate a request by the operator's key, and refuse unknown query parameters."""
    name = provisioning.operator(request)
    refuse_unknown_parameters(request, lambda: query_parameters(api))
    return name


api = NinjaAPI(
    title="Memory Bank",
    version="1",
    urls_namespace="api",
    openapi_url=None,
    docs_url=None,
    auth=_admit,
    parser=JSONParser(),
)
problems.install(api)
for part in (outputs, ratings, chats, authors, facts, fact_history, memory, jobs, erasure, export, project, webhooks):
    api.add_router("", part.router)
api.add_router("", provisioning.router, auth=_admit_operator)


def _wrap_view(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Wrap a view so that it answers in English, and turn a 405 into a problem document."""

    @csrf_exempt  # authenticated by a key, never by a cookie
    @wraps(view)
    def wrapper(request: HttpRequest, **values: Any) -> HttpResponseBase:
        with override("en"):
            response = view(request, **values)
        if response.status_code == 405:
            allowed = response.headers["Allow"]
            response = problems.problem_response(405, f"Allowed methods: {allowed}.")
            response.headers["Allow"] = allowed
        return response

    return wrapper


def _api_patterns() -> list[URLPattern]:
    """One pattern for each URL name; ninja has one for each method."""
    patterns: dict[str, URLPattern] = {}
    for pattern in api.urls[0]:
        if isinstance(pattern, URLPattern) and pattern.name != "api-root":  # added by ninja
            pattern.callback = _wrap_view(pattern.callback)
            patterns.setdefault(str(pattern.name), pattern)
    return list(patterns.values())


def openapi_view(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document; public."""
    if request.method not in ("GET", "HEAD"):
        response = problems.problem_response(405, "Allowed methods: GET, HEAD.")
        response.headers["Allow"] = "GET, HEAD"
        return response
    return JsonResponse(openapi_document(api))


def not_found(request: HttpRequest, **values: Any) -> HttpResponse:
    """Answer 404 as a problem document."""
    return problems.ERROR_HANDLERS[Http404](request, Http404())


urlpatterns = [
    *_api_patterns(),
    path("openapi.json", csrf_exempt(openapi_view), name="api-description"),
    re_path("", csrf_exempt(not_found), name="api-nowhere"),
]
