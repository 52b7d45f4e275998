"""Who asks: the key in a request's header, and what `access` says that it opens. No cookie is looked at."""

from django.http import HttpRequest

from memorybank.services import Bank
from projects.tenancy import api_keys, permissions

from ..models import APIKey


def key_in(request: HttpRequest) -> APIKey:
    """The key of a request, if it opens this address by this method; raises :class:`keys.Refused`."""
    match = request.resolver_match
    assert match is not None and match.url_name is not None and request.method is not None
    scope = permissions.SCOPES[match.url_name][request.method]
    return api_keys.authenticated(api_keys.presented(request.headers), scope)


def key_of(request: HttpRequest) -> APIKey:
    """The key that :func:`key_in` has let in."""
    key = request.auth  # type: ignore[attr-defined]  # ninja's
    assert isinstance(key, APIKey)
    return key


def bank_of(request: HttpRequest) -> Bank:
    """The only bank that a request is about: that of its key's project."""
    return key_of(request).project.bank
