"""The addresses of the gateway: each passes a request to an upstream of the same protocol, and its answer back."""

from collections.abc import Callable, Coroutine
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from memorybank.services import LLMCall

from .protocols import AnthropicMessages, ChatCompletions, Protocol, Responses
from .proxy import answered
from .requests import Route

CHAT, EMBEDDING = LLMCall.Purpose.CHAT, LLMCall.Purpose.EMBEDDING
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def _view(route: Route) -> View:
    @csrf_exempt  # a key is no cookie: no other page can send it
    async def passing(request: HttpRequest) -> HttpResponseBase:
        return await answered(request, route)

    return passing


chat_completions = _view(Route("gateway-chat-completions", "chat/completions", ChatCompletions(), CHAT, remembers=True))
responses = _view(Route("gateway-responses", "responses", Responses(), CHAT, remembers=True))
messages = _view(Route("gateway-messages", "messages", AnthropicMessages(), CHAT, remembers=True))
# As the upstream counts it, without memory: a client that is told of more shortens its chat too early.
count_tokens = _view(Route("gateway-count-tokens", "messages/count_tokens", AnthropicMessages()))
embeddings = _view(Route("gateway-embeddings", "embeddings", ChatCompletions(), EMBEDDING))


@csrf_exempt
async def models(request: HttpRequest, model: str = "") -> HttpResponseBase:
    """Those of the upstream whose clients ask: Anthropic's send its version."""
    protocol: Protocol = AnthropicMessages() if "anthropic-version" in request.headers else ChatCompletions()
    name = "gateway-model" if model else "gateway-models"
    return await answered(request, Route(name, f"models/{model}".rstrip("/"), protocol, method="GET"))
