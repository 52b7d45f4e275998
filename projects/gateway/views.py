"""The gateway's endpoints: each forwards a request to an upstream of the same protocol."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from memorybank.services import LLMCall

from .protocols import PROTOCOLS, AnthropicMessages, ChatCompletions, Protocol
from .proxy import handle
from .requests import Route

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def _view(route: Route) -> View:
    @csrf_exempt  # authenticated by a key, never by a cookie
    async def view(request: HttpRequest) -> HttpResponseBase:
        return await handle(request, route)

    return view


@csrf_exempt
async def nowhere(request: HttpRequest, path: str = "") -> HttpResponseBase:
    """Refuse an address that the gateway has not, in the protocol of whoever asks."""
    is_anthropic = "anthropic-version" in request.headers or path.startswith("messages")
    protocol: Protocol = AnthropicMessages() if is_anthropic else ChatCompletions()
    return JsonResponse(protocol.problem(404, "This gateway has no such address."), status=404)


@csrf_exempt
async def models(request: HttpRequest, model: str = "") -> HttpResponseBase:
    """List models, or describe one; of the Anthropic upstream if the client sends ``anthropic-version``."""
    protocol: Protocol = AnthropicMessages() if "anthropic-version" in request.headers else ChatCompletions()
    name = "gateway-model" if model else "gateway-models"
    return await handle(request, Route(name, "models", protocol, method="GET", model=model))


def addresses() -> Iterator[URLPattern]:
    """The address of each endpoint of each protocol, those of models, and all others below them."""
    for protocol in PROTOCOLS:
        for endpoint in protocol.endpoints:
            purpose = LLMCall.Purpose(endpoint.purpose) if endpoint.purpose else None
            route = Route("gateway", endpoint.path, protocol, purpose, endpoint.remembers, endpoint.optional)
            yield path(f"v1/{endpoint.path}", _view(route), name=route.name)
    yield path("v1/models", models, name="gateway-models")
    yield path("v1/models/<path:model>", models, name="gateway-model")
    yield path("v1/", nowhere, name="gateway-root")
    yield path("v1/<path:path>", nowhere, name="gateway-nowhere")
