"""The gateway's endpoints: each forwards a request to an upstream of the same protocol."""

from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from memorybank.services import LLMCall

from .protocols import PROTOCOLS, AnthropicMessages, ChatCompletions, Endpoint, Protocol, protocol_of
from .proxy import handle
from .routes import Route

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def _view(routes: Sequence[Route]) -> View:
    """The view of one path. Its routes differ in their method."""
    by_method = {route.method: route for route in routes}

    @csrf_exempt  # authenticated by a key, never by a cookie
    async def view(request: HttpRequest, **ids: str) -> HttpResponseBase:
        route = by_method.get(str(request.method), routes[0])
        if ids:
            route = replace(route, path=route.path.format(**ids), object_id=ids["id"])
        return await handle(request, route, allowed=tuple(by_method))

    return view


@csrf_exempt
async def nowhere(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """Answer 404 for an unknown URL."""
    protocol = protocol_of(request.path_info, request.headers)
    return JsonResponse(protocol.problem(404, "This gateway has no such address."), status=404)


@csrf_exempt
async def models(request: HttpRequest, model: str = "") -> HttpResponseBase:
    """List models, or describe one; asks the Anthropic upstream if the client sends ``anthropic-version``."""
    protocol: Protocol = AnthropicMessages() if "anthropic-version" in request.headers else ChatCompletions()
    name = "gateway-model" if model else "gateway-models"
    return await handle(request, Route(name, "models", protocol, method="GET", model=model))


def _route(protocol: Protocol, endpoint: Endpoint) -> Route:
    return Route(
        "gateway",
        endpoint.path,
        protocol,
        LLMCall.Purpose(endpoint.purpose) if endpoint.purpose else None,
        endpoint.remembers,
        endpoint.optional,
        endpoint.method,
        has_model=not endpoint.stored,
    )


def addresses() -> Iterator[URLPattern]:
    """The URL patterns of each protocol's endpoints and of models, and a catch-all for other URLs below ``v1/``."""
    routes: dict[str, list[Route]] = defaultdict(list)
    for protocol in PROTOCOLS:
        for endpoint in protocol.endpoints:
            routes[endpoint.path].append(_route(protocol, endpoint))
    for address, of_path in routes.items():
        yield path(f"v1/{address.replace('{', '<slug:').replace('}', '>')}", _view(of_path), name="gateway")
    yield path("v1/models", models, name="gateway-models")
    yield path("v1/models/<path:model>", models, name="gateway-model")
    yield path("v1/", nowhere, name="gateway-root")
    yield path("v1/<path:path>", nowhere, name="gateway-nowhere")
