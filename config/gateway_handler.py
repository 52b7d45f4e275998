"""Django's handler with a short way for requests that only pass through: none of what pages need stands before them."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

from config import request_ids
from config.security_headers import guard

#: Addresses of the gateway. Sessions, cookies, forms and languages are not for programs.
PASSING = "/v1/"


class Handler(ASGIHandler):
    """Middleware holds a thread for each request until its answer begins, and a model may think for long."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Put the short way before all of it; what did not come by HTTPS goes the long way, and is sent there."""
        super().load_middleware(is_async=is_async)
        pages: Callable[[HttpRequest], Awaitable[HttpResponseBase]] = self._middleware_chain  # type: ignore[has-type]

        async def answered(request: HttpRequest) -> HttpResponseBase:
            passing = request.path_info.startswith(PASSING) and (
                request.is_secure() or not settings.SECURE_SSL_REDIRECT
            )
            response: HttpResponseBase = await (straight if passing else pages)(request)
            return response

        self._middleware_chain = convert_exception_to_response(answered)


async def straight(request: HttpRequest) -> HttpResponseBase:
    """What the address says, faults as well, with a name for the request and the headers of every answer."""
    name = request_ids.begin(request)
    return request_ids.named(guard(await _told(request)), name)


async def _said(request: HttpRequest) -> HttpResponseBase:
    """What the async view of the address says."""
    request.get_host()  # raises for a name that is not ours
    found = resolve(request.path_info)
    assert iscoroutinefunction(found.func), found
    response: HttpResponseBase = await found.func(request, *found.args, **found.kwargs)
    return response


#: The same, where a fault is an answer as well.
_told: Callable[[HttpRequest], Awaitable[HttpResponseBase]] = convert_exception_to_response(_said)  # type: ignore[assignment]
