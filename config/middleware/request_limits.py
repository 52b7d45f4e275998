"""ASGI middleware that bounds requests before they are read: length, time, number, and a key's share of each."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings

from projects.gateway.database.accounts import accounts
from projects.gateway.refusals import Refusal
from projects.tenancy import authentication

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

#: Addresses for programs. The gateway's bodies may contain pictures.
GATEWAY_PREFIX, KEY_PREFIXES = "/v1/", ("/v1/", "/api/", "/mcp")
MAX_GATEWAY_BYTES = 32 * 2**20
#: Django answers a body that is a little too long itself, in the form of its page.
PAGE_SPARE_BYTES = 2**16
#: A longer body of a program is read only after its key was found; a page may have so many of them at once.
MAX_UNKNOWN_BYTES = 2**16
MAX_UNKNOWN_AT_ONCE = 32
#: A body of which nothing arrives for this long is given up, and one that is slower than this in all.
PAUSE_SECONDS, MIN_BYTES_A_SECOND = 20.0, 4096
#: Of one key, in one process.
HEAVY_BYTES = 2**20
MAX_HEAVY_AT_ONCE = 4
MINUTE_SECONDS = 60


class _Refused(Exception):
    """Refuse a request that is not read to its end."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RequestLimits:
    """Wraps an ASGI application. Its counts are those of one process."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._unknown = 0
        self._open = Counter[str]()
        self._heavy = Counter[str]()
        #: The minute, and the bytes of each key in it.
        self._minute, self._bytes = 0, Counter[str]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it before its body is stored."""
        request = _Request(self, scope, receive)
        try:
            request.begin()
            await self._application(scope, request.receive, send)
        except _Refused as refused:
            await _answer(send, refused)
        finally:
            request.end()

    def open(self, digest: str, change: int) -> None:
        """Count a key's requests that are under way."""
        self._open[digest] += change
        if self._open[digest] <= 0:
            del self._open[digest]
        elif change > 0 and self._open[digest] > settings.API_REQUESTS_AT_ONCE > 0:
            raise _Refused(429, f"A key may have {settings.API_REQUESTS_AT_ONCE:,} requests under way at once.")

    def heavy(self, digest: str, change: int) -> None:
        """Count a key's long bodies that are under way."""
        self._heavy[digest] += change
        if self._heavy[digest] <= 0:
            del self._heavy[digest]
        elif change > 0 and self._heavy[digest] > MAX_HEAVY_AT_ONCE:
            raise _Refused(429, f"A key may send {MAX_HEAVY_AT_ONCE} bodies over {HEAVY_BYTES // 2**20} MiB at once.")

    def unknown(self, change: int) -> None:
        """Count bodies of nobody that are longer than ``MAX_UNKNOWN_BYTES``."""
        self._unknown += change
        if change > 0 and self._unknown > MAX_UNKNOWN_AT_ONCE:
            raise _Refused(503, "Too many requests at once. Try again later.")

    def add_bytes(self, digest: str, length: int) -> None:
        """Count what a key sends in this minute."""
        minute = int(time.monotonic() // MINUTE_SECONDS)
        if minute != self._minute:
            self._minute, self._bytes = minute, Counter()
        self._bytes[digest] += length
        limit = settings.API_MEGABYTES_PER_MINUTE
        if limit and self._bytes[digest] > limit * 1_000_000:
            raise _Refused(429, f"A key may send {limit:,} MB a minute.")


class _Request:
    """One request while its body is read, and what it holds until it is answered."""

    def __init__(self, limits: RequestLimits, scope: Message, receive: Receive) -> None:
        headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        path = scope["path"]
        self._limits, self._receive = limits, receive
        self._key = headers.get("authorization") or headers.get("x-api-key") or ""
        self._by_key = path.startswith(KEY_PREFIXES)
        self._digest = authentication.digest_of(self._key) if self._by_key and self._key else ""
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + PAGE_SPARE_BYTES
        self._max_bytes = MAX_GATEWAY_BYTES if path.startswith(GATEWAY_PREFIX) else most
        self._declared = int(length) if (length := headers.get("content-length", "")).isdecimal() else 0
        self._read, self._deadline = 0, time.monotonic() + PAUSE_SECONDS
        self._done = self._checked = self._is_heavy = False
        self._held: list[Callable[[int], None]] = []

    def begin(self) -> None:
        """Count it."""
        if self._digest:
            self._hold(lambda change: self._limits.open(self._digest, change))

    def end(self) -> None:
        """Give back all that it counts for, also if it was refused."""
        for release in self._held:
            release(-1)

    def _hold(self, count: Callable[[int], None]) -> None:
        self._held.append(count)  # first: what is refused was counted, too
        count(1)

    async def receive(self) -> Message:
        """The next part of the body; what follows it is passed on as it comes."""
        if self._done:
            return await self._receive()
        await self._check(max(self._declared, self._read))
        limit = min(PAUSE_SECONDS, max(0.0, self._deadline - time.monotonic()))
        try:
            message = await asyncio.wait_for(self._receive(), limit)
        except TimeoutError:
            raise _Refused(408, "The request's body did not arrive in time.") from None
        length = len(message.get("body", b""))
        self._read += length
        self._deadline += length / MIN_BYTES_A_SECOND
        self._done = not message.get("more_body", False)
        await self._check(self._read)
        if self._digest and length:
            self._limits.add_bytes(self._digest, length)
        return message

    async def _check(self, length: int) -> None:
        """Refuse a body of this length, or count it if it is long."""
        if length > self._max_bytes:
            raise _Refused(413, f"The request body exceeds {self._max_bytes:,} bytes.")
        if length > MAX_UNKNOWN_BYTES and not self._checked:
            self._checked = True
            if not self._by_key:
                self._hold(self._limits.unknown)
            else:
                await _require_known(self._digest)
        if length > HEAVY_BYTES and self._digest and not self._is_heavy:
            self._is_heavy = True
            self._hold(lambda change: self._limits.heavy(self._digest, change))


async def _require_known(digest: str) -> None:
    """Refuse a key that is not valid, or that cannot be checked now."""
    try:
        if not digest:
            raise authentication.Unauthenticated
        await accounts.find(digest, settings.GATEWAY_MEMORY_MILLISECONDS / 1000)
    except authentication.Unauthenticated as error:
        raise _Refused(401, str(error)) from None
    except Refusal as refusal:
        raise _Refused(refusal.status, str(refusal)) from None


async def _answer(send: Send, refused: _Refused) -> None:
    """In a form that OpenAI's, Anthropic's and our own clients read. The connection ends: its body is not read."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    error = {"type": kinds.get(refused.status, "invalid_request_error"), "message": str(refused)}
    content = json.dumps({"type": "error", "error": error, "status": refused.status, "detail": str(refused)}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),
        (b"cache-control", b"no-store"),
    ]
    if refused.status in (429, 503):
        headers.append((b"retry-after", b"10"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
