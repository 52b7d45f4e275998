"""HTTP clients for upstreams, and the lists of forwarded query parameters, request headers and response headers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from projects.web.providers import PROVIDERS

from .targets import UpstreamTarget

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2
    from django.http import QueryDict

#: A model may be silent for long between two bytes; connecting is quick or fails.
TIMEOUT_SECONDS = {"connect": 10, "read": 600, "write": 60, "pool": 30}

#: Headers that identify the calling program, and headers that the providers define. An upstream's own list adds to it.
REQUEST_HEADERS = frozenset(
    "accept content-type user-agent idempotency-key http-referer x-title x-app x-client-request-id traceparent "
    "tracestate".split()
).union(*(provider.request_headers for provider in PROVIDERS.values()))
REQUEST_HEADER_PREFIXES = ("x-stainless-",)
#: Headers that only this site or the connection may set; no list can add them.
OWN_HEADERS = frozenset(
    "accept-encoding authorization connection content-length cookie host transfer-encoding x-api-key".split()
).union(provider.key_header for provider in PROVIDERS.values())
QUERY_PARAMETERS = frozenset(
    "after after_id api-version before before_id beta include include[] limit order starting_after stream".split()
)
#: Do not add headers that control how a browser handles this site's pages.
RESPONSE_HEADERS = frozenset("content-type request-id retry-after retry-after-ms x-request-id x-should-retry".split())
RESPONSE_HEADER_PREFIXES = ("x-ratelimit-", *(name for row in PROVIDERS.values() for name in row.answer_headers))
#: An answer of another type is passed on as bytes, so that no browser shows it as a page of this site.
CONTENT_TYPES = frozenset({"application/json", "text/event-stream", "text/plain"})
OTHER_CONTENT_TYPE = "application/octet-stream"

#: One client per upstream address, so that a slow upstream does not use up the connections of another.
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, httpx2.AsyncClient]] = WeakKeyDictionary()


def _client(base_url: str) -> httpx2.AsyncClient:
    import httpx2  # takes 0.4 s, and no page needs it

    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if base_url not in clients:
        clients[base_url] = httpx2.AsyncClient(
            timeout=httpx2.Timeout(**TIMEOUT_SECONDS),
            limits=httpx2.Limits(max_connections=2_000, max_keepalive_connections=200, keepalive_expiry=30),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # stores none: tenants share the client
            verify=_certificates(),
        )
    return clients[base_url]


@cache
def _certificates() -> SSLContext:
    """The TLS context, loaded once, because that takes longer than the rest of creating a client."""
    import httpx2

    return httpx2.create_ssl_context()


async def send(
    target: UpstreamTarget, method: str, path: str, headers: Mapping[str, str], content: bytes
) -> httpx2.Response:
    """Send a request and return the response unread. Cancelling closes the connection."""
    client = _client(target.base_url)
    request = client.build_request(method, target.url(path), headers=_request_headers(target, headers), content=content)
    return await client.send(request, stream=True)


def query(parameters: QueryDict) -> str:
    """The query string to send: the parameters that the protocols know."""
    known = [(name, values) for name, values in parameters.lists() if name in QUERY_PARAMETERS]
    return urlencode([(name, value) for name, values in known for value in values])


def _request_headers(target: UpstreamTarget, headers: Mapping[str, str]) -> list[tuple[str, str]]:
    passed = (REQUEST_HEADERS | target.passed_headers) - OWN_HEADERS
    lowered = [(name.lower(), value) for name, value in headers.items()]
    kept = [
        (name, value)
        for name, value in lowered
        if name in passed or (name.startswith(REQUEST_HEADER_PREFIXES) and name not in OWN_HEADERS)
    ]
    return [*kept, ("accept-encoding", "identity"), *target.headers.items()]


def response_headers(headers: httpx2.Headers) -> Iterable[tuple[str, str]]:
    """The response headers to pass on to the client."""
    for name, value in headers.multi_items():
        lowered = name.lower()
        if lowered == "content-type" and value.partition(";")[0].strip().lower() not in CONTENT_TYPES:
            yield name, OTHER_CONTENT_TYPE
        elif lowered in RESPONSE_HEADERS or lowered.startswith(RESPONSE_HEADER_PREFIXES):
            yield name, value
