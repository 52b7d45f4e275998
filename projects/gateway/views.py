"""The gateway's endpoints: each forwards a request to an upstream of the same protocol."""

from collections.abc import Callable, Coroutine
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from memorybank.services import LLMCall

from .protocols import AnthropicMessages, ChatCompletions, Protocol, Responses
from .proxy import handle
from .requests import Route

CHAT_PURPOSE, EMBEDDING_PURPOSE = LLMCall.Purpose.CHAT, LLMCall.Purpose.EMBEDDING
View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]


def _view(route: Route) -> View:
    @csrf_exempt  # authenticated by a key, never by a cookie
    async def view(request: HttpRequest) -> HttpResponseBase:
        return await handle(request, route)

    return view


chat_completions = _view(
    Route("gateway-chat-completions", "chat/completions", ChatCompletions(), CHAT_PURPOSE, remembers=True)
)
responses = _view(Route("gateway-responses", "responses", Responses(), CHAT_PURPOSE, remembers=True))
messages = _view(Route("gateway-messages", "messages", AnthropicMessages(), CHAT_PURPOSE, remembers=True))
# Counts tokens without memory: a client that sees more tokens shortens its chat too early.
count_tokens = _view(Route("gateway-count-tokens", "messages/count_tokens", AnthropicMessages()))
embeddings = _view(Route("gateway-embeddings", "embeddings", ChatCompletions(), EMBEDDING_PURPOSE))


@csrf_exempt
async def models(request: HttpRequest, model: str = "") -> HttpResponseBase:
    """List models, or describe one; of the Anthropic upstream if the client sends ``anthropic-version``."""
    protocol: Protocol = AnthropicMessages() if "anthropic-version" in request.headers else ChatCompletions()
    name = "gateway-model" if model else "gateway-models"
    return await handle(request, Route(name, "models", protocol, method="GET", model=model))
