"""A span for each request, within the trace that the client started."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memorybank.llm import tracing

#: The headers of a trace context, as text and as ASGI has them.
CONTEXT_KEYS = [(name, name.encode()) for name in tracing.CONTEXT_HEADERS]


class Tracing:
    """ASGI middleware: a span for each request, until the last byte. It is named after the route, not the path."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Callable[..., Awaitable[None]]) -> None:
        headers = dict(scope.get("headers", ()))
        carrier = {name: headers[key].decode("latin-1") for name, key in CONTEXT_KEYS if key in headers}
        with tracing.span(scope.get("method", "HTTP"), tracing.SpanKind.SERVER, carrier=carrier) as current:

            async def noting(message: Mapping[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    current.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self.app(scope, receive, noting)
