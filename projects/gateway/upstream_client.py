"""Calling upstreams: one client for each event loop, headers as the client sent them but for keys and addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from .upstreams import Target

if TYPE_CHECKING:
    import httpx2

#: Between two bytes a model may think for long; a connection is there quickly or not at all.
TIMEOUT_SECONDS = {"connect": 10, "read": 600, "write": 60, "pool": 30}

#: Ours, the way's, or the client's secret: not the upstream's business.
_KEPT_BACK = frozenset(
    "authorization x-api-key cookie host content-length transfer-encoding connection keep-alive te trailer upgrade "
    "proxy-authorization proxy-connection accept-encoding forwarded via x-real-ip x-request-id".split()
)
_OURS = ("x-memory", "x-forwarded-")
_NOT_RETURNED = frozenset(
    "content-length content-encoding transfer-encoding connection keep-alive set-cookie date server".split()
)
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = WeakKeyDictionary()


def _client() -> httpx2.AsyncClient:
    import httpx2  # takes 0.4 s, which no page needs

    loop = asyncio.get_running_loop()
    if loop not in _clients:
        limits = httpx2.Limits(max_connections=2_000, max_keepalive_connections=200, keepalive_expiry=30)
        _clients[loop] = httpx2.AsyncClient(timeout=httpx2.Timeout(**TIMEOUT_SECONDS), limits=limits)
    return _clients[loop]


async def send(target: Target, method: str, path: str, headers: Mapping[str, str], content: bytes) -> httpx2.Response:
    """The beginning of an answer. Who is cancelled meanwhile has closed the connection."""
    request = _client().build_request(method, target.url(path), headers=_onwards(target, headers), content=content)
    return await _client().send(request, stream=True)


def _onwards(target: Target, headers: Mapping[str, str]) -> list[tuple[str, str]]:
    lowered = [(name.lower(), value) for name, value in headers.items()]
    kept = [(name, value) for name, value in lowered if name not in _KEPT_BACK and not name.startswith(_OURS)]
    return [*kept, ("accept-encoding", "identity"), *target.headers.items()]


def returned(headers: httpx2.Headers) -> Iterable[tuple[str, str]]:
    """The headers of an answer that are the client's."""
    return [(name, value) for name, value in headers.multi_items() if name.lower() not in _NOT_RETURNED]
