"""A name for each request: taken from who asks if it is sane, answered, and in every line that is logged meanwhile."""

import re
from collections.abc import Callable
from contextvars import ContextVar
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase

HEADER = "X-Request-ID"
#: No space and not long: nobody's sentence, and nothing that forges a line of a log.
SANE = re.compile(r"[A-Za-z0-9._:-]{1,64}")

current: ContextVar[str] = ContextVar("request", default="")


def identified(answer: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware, before all others."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        name = begin(request)
        return named(answer(request), name)

    return answered


def begin(request: HttpRequest) -> str:
    """The name that a request has from now on."""
    given = request.headers.get(HEADER, "")
    name = given if SANE.fullmatch(given) else uuid4().hex
    # Never taken back: Django logs what went wrong after the last middleware, and the next request sets its own.
    current.set(name)
    return name


def named(response: HttpResponseBase, name: str) -> HttpResponseBase:
    """The response with the name of its request."""
    response.headers[HEADER] = name
    return response
