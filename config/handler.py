"""Django's ASGI handler, with a shorter path for requests to the gateway."""

import asyncio
from typing import Any

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpRequest
from django.urls import set_script_prefix

from config.middleware.gateway import GATEWAY_PREFIX


class Handler(ASGIHandler):
    """Handles gateway requests without Django's thread and signals for each request.

    Django starts a thread for a request and sends two signals through it. That takes longer than everything else that
    the gateway adds to a request. The gateway needs neither: it has its own threads, which manage their connections.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request, or any other ASGI scope."""
        if scope["type"] == "http" and scope["path"].startswith(GATEWAY_PREFIX):
            await self._handle_gateway(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    async def _handle_gateway(self, scope: Any, receive: Any, send: Any) -> None:
        """Like Django's ``handle``: read the body, answer, and cancel if the client disconnects."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        set_script_prefix(get_script_prefix(scope))
        with body:
            request, refusal = self.create_request(scope, body)
            if request is None:
                assert refusal is not None
                await self.send_response(refusal, send)
                return
            answering = asyncio.ensure_future(self._answer(request, send))
            leaving = asyncio.ensure_future(receive())  # after the body, the only message is the client's disconnect
            try:
                await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                if not answering.done():
                    answering.cancel()
                await asyncio.wait([answering])
        if not answering.cancelled():
            answering.result()

    async def _answer(self, request: HttpRequest, send: Any) -> None:
        await self.send_response(await self.run_get_response(request), send)
