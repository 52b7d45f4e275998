"""Forward a request to its upstream and return the answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse

from memorybank.exceptions import log_message

from .database.threads import readers
from .exchange import Exchange, parse_body
from .refusals import Refusal
from .requests import MAX_BODY_BYTES, TOO_LONG_MESSAGE, GatewayRequest, accept_request
from .routes import Route
from .upstream import client, errors

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)
REDIRECTED_MESSAGE = "The upstream redirects to another address."


async def handle(request: HttpRequest, route: Route, *, allowed: Sequence[str] = ()) -> HttpResponseBase:
    """Return the upstream's answer, or a refusal in the protocol's format. ``allowed`` are the methods of its path."""
    try:
        if request.method != route.method:
            raise Refusal(405, f"Allowed method: {', '.join(allowed or [route.method])}.")
        if len(raw := request.read(MAX_BODY_BYTES + 1)) > MAX_BODY_BYTES:
            raise Refusal(413, TOO_LONG_MESSAGE)
        accepted = await accept_request(route, request.headers, raw)
        return await _forward(request, accepted)
    except Exception as error:
        refusal = error if isinstance(error, Refusal) else _unexpected(error)
        answer = JsonResponse(route.protocol.problem(refusal.status, str(refusal)), status=refusal.status)
        if refusal.retry_after:
            answer["Retry-After"] = str(refusal.retry_after)
        return answer


def _unexpected(error: Exception) -> Refusal:
    logger.error("gateway: %s", log_message(error))
    return Refusal(500, "The gateway failed. The error is in its log.")


async def _forward(http_request: HttpRequest, request: GatewayRequest) -> HttpResponseBase:
    import httpx2  # takes 0.4 s, and no page needs it

    exchange, query = Exchange(request), client.query(http_request.GET)
    path = f"{request.path}?{query}" if query else request.path
    try:
        response = await client.send(request.target, request.route.method, path, http_request.headers, request.content)
        if 300 <= response.status_code < 400:
            await response.aclose()
            await exchange.fail(REDIRECTED_MESSAGE)
            raise Refusal(502, REDIRECTED_MESSAGE)
        if response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
            try:
                memory_headers = await exchange.memory_headers()
            except asyncio.CancelledError:
                await response.aclose()
                raise
            return _with_headers(StreamingHttpResponse(exchange.stream(response)), response, memory_headers)
        status, content = response.status_code, await response.aread()
        data = parse_body(content)
        failed = response.is_error or bool(request.route.purpose and not errors.is_answer(data))
        if failed:
            status, content = await readers.run(
                errors.clean_failure, request.route.protocol, request.sent, status, content
            )
            data = parse_body(content)
        await exchange.read_body(status, data, failed=failed)
    except asyncio.CancelledError:
        await exchange.cancel()
        raise
    except httpx2.HTTPError as error:
        timed_out = isinstance(error, httpx2.TimeoutException)
        message = "The upstream did not answer in time." if timed_out else "The upstream is unreachable."
        await exchange.fail(message)
        raise Refusal(504 if timed_out else 502, message) from None
    if response.is_success and request.path == "models":
        content = _filter_models(request, content)
    answer = _with_headers(HttpResponse(content), response, await exchange.memory_headers())
    answer.status_code = status
    return answer


def _with_headers(
    answer: HttpResponseBase, response: httpx2.Response, memory_headers: dict[str, str]
) -> HttpResponseBase:
    """Copy the upstream's status and headers, and add those about memory."""
    answer.status_code = response.status_code
    for name, value in client.response_headers(response.headers):
        answer[name] = value
    for name, value in memory_headers.items():
        answer[name] = value
    answer["X-Accel-Buffering"] = "no"  # so that no proxy in front of this site buffers the answer
    return answer


def _filter_models(request: GatewayRequest, content: bytes) -> bytes:
    """A list of models without those that the project may not use."""
    if not request.target.allowed:
        return content
    try:
        listed = json.loads(content)
        listed["data"] = [model for model in listed["data"] if model["id"] in request.target.allowed]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise Refusal(502, "The upstream's list of models could not be read.") from None
    return json.dumps(listed).encode()
