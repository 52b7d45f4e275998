"""Middleware that answers gateway requests without the middleware for pages (sessions, CSRF, languages)."""

import logging
from collections.abc import Awaitable, Callable
from functools import lru_cache
from time import monotonic

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import ResolverMatch, resolve
from django.utils.decorators import async_only_middleware

from config.middleware import request_ids
from config.middleware.security_headers import add_security_headers
from projects.gateway.protocols import protocol_of

GATEWAY_PREFIX = "/v1/"
WRONG_HOST_MESSAGE = "This site does not answer under the host name of the request. Its operator can allow it."
#: The logger that Django uses for this error.
security_logger = logging.getLogger("django.security.DisallowedHost")

View = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def gateway_shortcut(pages: View) -> View:
    """Answer gateway requests without the rest of ``MIDDLEWARE``, where this must come first.

    Each synchronous middleware would hold a thread until the response begins, which may take long. A plain HTTP
    request that must use HTTPS does go through the other middleware, which redirects it.
    """

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        is_gateway = request.path_info.startswith(GATEWAY_PREFIX)
        if is_gateway and (request.is_secure() or not settings.SECURE_SSL_REDIRECT):
            request_id, started = request_ids.assign_request_id(request), monotonic()
            response = add_security_headers(await _answer(request))
            request_ids.log_request(request, response, started)
            response.headers["X-Content-Type-Options"] = "nosniff"
            return request_ids.add_request_id(response, request_id, request_ids.GATEWAY_REQUEST_ID_HEADER)
        return await pages(request)

    return middleware


@lru_cache(maxsize=256)
def _resolved(path: str) -> ResolverMatch:
    """The view of a path. Most requests have one of a few, and to compare a path with all our patterns takes long."""
    return resolve(path)


async def _call_view(request: HttpRequest) -> HttpResponseBase:
    try:
        request.get_host()
    except DisallowedHost as error:
        security_logger.error(str(error))  # as Django does; it has the host name and no text of a chat
        protocol = protocol_of(request.path_info, request.headers)
        return JsonResponse(protocol.problem(400, WRONG_HOST_MESSAGE), status=400)
    request.resolver_match = match = _resolved(request.path_info)
    assert iscoroutinefunction(match.func), match
    response: HttpResponseBase = await match.func(request, *match.args, **match.kwargs)
    return response


#: :func:`_call_view`, with exceptions converted to responses.
_answer: View = convert_exception_to_response(_call_view)  # type: ignore[assignment]
