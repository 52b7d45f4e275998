"""HTTP client for upstreams: one for each event loop. Keys and addresses are removed from the client's headers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .upstreams import Target

if TYPE_CHECKING:
    import httpx2

#: A model may be silent for long between two bytes; connecting is quick or fails.
TIMEOUT_SECONDS = {"connect": 10, "read": 600, "write": 60, "pool": 30}

#: Headers for this site, for one hop, or with the client's secrets.
_DROPPED_REQUEST_HEADERS = frozenset(
    "authorization x-api-key cookie host content-length transfer-encoding connection keep-alive te trailer upgrade "
    "proxy-authorization proxy-connection accept-encoding forwarded via x-real-ip x-request-id".split()
)
_DROPPED_HEADER_PREFIXES = ("x-memory", "x-forwarded-")
_DROPPED_RESPONSE_HEADERS = frozenset(
    "content-length content-encoding transfer-encoding connection keep-alive set-cookie date server".split()
)
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()


def _client() -> httpx2.AsyncClient:
    import httpx2  # takes 0.4 s, and no page needs it

    loop = asyncio.get_running_loop()
    if loop not in _clients:
        limits = httpx2.Limits(max_connections=2_000, max_keepalive_connections=200, keepalive_expiry=30)
        _clients[loop] = httpx2.AsyncClient(timeout=httpx2.Timeout(**TIMEOUT_SECONDS), limits=limits)
    return _clients[loop]


async def send(target: Target, method: str, path: str, headers: Mapping[str, str], content: bytes) -> httpx2.Response:
    """Send a request and return the response unread. Cancelling closes the connection."""
    request = _client().build_request(
        method, target.url(path), headers=_request_headers(target, headers), content=content
    )
    return await _client().send(request, stream=True)


def _request_headers(target: Target, headers: Mapping[str, str]) -> list[tuple[str, str]]:
    lowered = [(name.lower(), value) for name, value in headers.items()]
    kept = [
        (name, value)
        for name, value in lowered
        if name not in _DROPPED_REQUEST_HEADERS and not name.startswith(_DROPPED_HEADER_PREFIXES)
    ]
    return [*kept, ("accept-encoding", "identity"), *target.headers.items()]


def response_headers(headers: httpx2.Headers) -> Iterable[tuple[str, str]]:
    """The response headers to pass on to the client."""
    return [(name, value) for name, value in headers.multi_items() if name.lower() not in _DROPPED_RESPONSE_HEADERS]
