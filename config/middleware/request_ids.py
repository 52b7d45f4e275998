"""Request ids: taken from the client if valid, returned in a header, and added to every log line."""

import logging
import re
from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase
from opentelemetry import trace

REQUEST_ID_HEADER = "X-Request-ID"
#: For responses of the gateway, whose ``X-Request-ID`` comes from the upstream.
GATEWAY_REQUEST_ID_HEADER = "X-Memory-Request-ID"
#: Short and without spaces, so that an id cannot forge a log line.
VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")

logger = logging.getLogger("requests")

current_request_id: ContextVar[str] = ContextVar("request", default="")


def request_id_middleware(
    answer: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Assign and return request ids. Must come before all other middleware for pages."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        name, started = assign_request_id(request), monotonic()
        response = answer(request)
        log_request(request, response, started)
        return add_request_id(response, name)

    return answered


def assign_request_id(request: HttpRequest) -> str:
    """Set and return the request's id."""
    client_id = request.headers.get(REQUEST_ID_HEADER, "")
    name = client_id if VALID_REQUEST_ID.fullmatch(client_id) else uuid4().hex
    # Never reset: Django logs errors after the last middleware, and the next request sets its own id.
    current_request_id.set(name)
    return name


def log_request(request: HttpRequest, response: HttpResponseBase, started: float) -> None:
    """Log a line with method, route, status, and the time until the response began; name the span after the route.

    The route is logged instead of the path, which may contain a link's secret or a line break.
    """
    route = request.resolver_match.route if request.resolver_match else "no such address"
    current = trace.get_current_span()
    current.update_name(f"{request.method} /{route}")
    current.set_attribute("http.route", f"/{route}")
    milliseconds = round(1000 * (monotonic() - started))
    logger.info("%s /%s: %s, %s ms", request.method, route, response.status_code, milliseconds)


def add_request_id(response: HttpResponseBase, name: str, header: str = REQUEST_ID_HEADER) -> HttpResponseBase:
    """Add the request's id to the response."""
    response.headers[header] = name
    return response
