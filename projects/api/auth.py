"""Authenticate a request by the API key in its header. Cookies are ignored."""

from collections.abc import Callable, Mapping

from django.http import HttpRequest

from memorybank.services import Asker, Bank
from projects.tenancy import authentication, people, permissions
from projects.web.refusal_texts import unknown_names

from ..models import APIKey
from .problems import Problem

#: The allowed query parameters of each operation, by URL name and HTTP method.
ParametersByOperation = Callable[[], Mapping[tuple[str, str], frozenset[str]]]


def authenticate(request: HttpRequest) -> APIKey:
    """Return the request's key; raise :class:`authentication.Refused` unless it may use this URL and method."""
    match = request.resolver_match
    assert match is not None and match.url_name is not None and request.method is not None
    scope = permissions.URL_SCOPES[match.url_name][request.method]
    return authentication.authenticate(authentication.key_header(request.headers), scope)


def refuse_unknown_parameters(request: HttpRequest, parameters: ParametersByOperation) -> None:
    """Raise :class:`Problem` (422) for an unknown query parameter: ignoring it would widen a filter."""
    match = request.resolver_match
    assert match is not None and match.url_name is not None and request.method is not None
    known = parameters().get((match.url_name, request.method), frozenset())
    if unknown := len(request.GET.keys() - known):
        raise Problem(422, unknown_names("parameter", unknown, sorted(known)))


def key_of(request: HttpRequest) -> APIKey:
    """The key that :func:`authenticate` has accepted."""
    key = request.auth  # type: ignore[attr-defined]  # ninja's
    assert isinstance(key, APIKey)
    return key


def asker_of(request: HttpRequest) -> Asker:
    """The member named in the header ``X-Memory-User``, if the key may speak for people; otherwise ``ANYBODY``."""
    return people.enter_as_named_in(key_of(request), request.headers)


def bank_of(request: HttpRequest) -> Bank:
    """The bank of the key's project, the only one a request can reach."""
    return key_of(request).project.bank
