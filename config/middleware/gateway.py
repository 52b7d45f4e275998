"""Middleware that answers gateway requests without the middleware for pages (sessions, CSRF, languages)."""

from collections.abc import Awaitable, Callable
from time import monotonic

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve
from django.utils.decorators import async_only_middleware

from config.middleware import request_ids
from config.middleware.security_headers import add_security_headers

GATEWAY_PREFIX = "/v1/"

View = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def gateway_shortcut(pages: View) -> View:
    """Must come first. Each synchronous middleware would hold a thread until the answer begins, which may take long.

    A plain HTTP request that must use HTTPS goes to the other middleware, which redirects it.
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


async def _call_view(request: HttpRequest) -> HttpResponseBase:
    request.get_host()  # raises for a host that is not allowed
    request.resolver_match = match = resolve(request.path_info)
    assert iscoroutinefunction(match.func), match
    response: HttpResponseBase = await match.func(request, *match.args, **match.kwargs)
    return response


#: The same, with exceptions converted to responses.
_answer: View = convert_exception_to_response(_call_view)  # type: ignore[assignment]
