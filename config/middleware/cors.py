"""ASGI middleware that lets pages of the origins in ``API_CORS_ORIGINS`` call the API, the gateway and MCP."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from config.middleware.request_limits import KEY_PREFIXES, Application, Message, Receive, Send

PREFLIGHT_HEADERS = [
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, *"),  # * does not include authorization
    (b"access-control-max-age", b"600"),
    (b"content-length", b"0"),
]


class Cors:
    """Wraps an ASGI application. Without ``API_CORS_ORIGINS`` it changes nothing."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a preflight request, or add CORS headers to the response."""
        if not settings.API_CORS_ORIGINS or not scope["path"].startswith(KEY_PREFIXES):
            await self._application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"")
        allowed = [(b"vary", b"Origin")]
        if origin.decode("latin1") in settings.API_CORS_ORIGINS:
            allowed += [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", b"*")]
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            answer = [*allowed, *PREFLIGHT_HEADERS] if len(allowed) > 1 else allowed
            await send({"type": "http.response.start", "status": 204, "headers": answer})
            await send({"type": "http.response.body"})
            return

        async def send_with_headers(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *allowed]}
            await send(message)

        await self._application(scope, receive, send_with_headers)
