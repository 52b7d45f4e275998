"""ASGI middleware that limits requests before their bodies are read: size, time and number, also for each key."""

import asyncio
import json
import re
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

#: Paths for programs, which authenticate with a key. Bodies to the gateway may be large, because of pictures.
GATEWAY_PREFIX, KEY_PREFIXES = "/v1/", ("/v1/", "/api/", "/mcp")
MAX_GATEWAY_BYTES = 32 * 2**20
#: Bodies may exceed Django's limit by this much, so that Django itself refuses a slightly too long one with its page.
PAGE_SPARE_BYTES = 2**16
#: The upload page. Senders are authenticated only after the file has arrived, so few files may arrive at once.
UPLOAD_PATH, MAX_UPLOADS_AT_ONCE = re.compile(r"/p/[^/]+/[^/]+/settings/import"), 4
#: A longer body from a program is read only if its key is valid; pages may receive this many longer bodies at once.
MAX_UNKNOWN_BYTES = 2**16
MAX_UNKNOWN_AT_ONCE = 32
#: A body is refused after a pause of this length, or if it arrives more slowly than this on average.
PAUSE_SECONDS, MIN_BYTES_A_SECOND = 20.0, 4096
#: Bodies longer than this are heavy; limit of heavy bodies at once, for each key in each process.
HEAVY_BYTES = 2**20
MAX_HEAVY_AT_ONCE = 4
MINUTE_SECONDS = 60


class _Refused(Exception):
    """Raised to refuse a request before its body is read completely."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RequestLimits:
    """Wraps an ASGI application. Requests are counted separately in each process."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._unknown = self._uploads = 0
        self._open = Counter[str]()
        self._heavy = Counter[str]()
        #: The current minute, and the bytes that each key has sent in it.
        self._minute, self._bytes = 0, Counter[str]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it before its whole body is held in memory."""
        request = _Request(self, scope, receive)
        try:
            request.begin()
            await self._application(scope, request.receive, send)
        except _Refused as refused:
            await _answer(send, refused)
        finally:
            request.end()

    def open(self, digest: str, change: int) -> None:
        """Count a key's requests in progress; refuse one above the limit. ``change`` is 1 or -1."""
        self._open[digest] += change
        if self._open[digest] <= 0:
            del self._open[digest]
        elif change > 0 and self._open[digest] > settings.API_REQUESTS_AT_ONCE > 0:
            raise _Refused(429, f"A key may have {settings.API_REQUESTS_AT_ONCE:,} requests under way at once.")

    def heavy(self, digest: str, change: int) -> None:
        """Count a key's heavy bodies in progress; refuse one above the limit."""
        self._heavy[digest] += change
        if self._heavy[digest] <= 0:
            del self._heavy[digest]
        elif change > 0 and self._heavy[digest] > MAX_HEAVY_AT_ONCE:
            raise _Refused(429, f"A key may send {MAX_HEAVY_AT_ONCE} bodies over {HEAVY_BYTES // 2**20} MiB at once.")

    def unknown(self, change: int) -> None:
        """Count bodies above ``MAX_UNKNOWN_BYTES`` whose sender is not known yet; refuse one above the limit."""
        self._unknown += change
        if change > 0 and self._unknown > MAX_UNKNOWN_AT_ONCE:
            raise _Refused(503, "Too many requests at once. Try again later.")

    def upload(self, change: int) -> None:
        """Count uploads in progress; refuse one above the limit."""
        self._uploads += change
        if change > 0 and self._uploads > MAX_UPLOADS_AT_ONCE:
            raise _Refused(503, "Too many files at once. Try again later.")

    def add_bytes(self, digest: str, length: int) -> None:
        """Count the bytes that a key sends in the current minute; refuse above the limit."""
        minute = int(time.monotonic() // MINUTE_SECONDS)
        if minute != self._minute:
            self._minute, self._bytes = minute, Counter()
        self._bytes[digest] += length
        limit = settings.API_MEGABYTES_PER_MINUTE
        if limit and self._bytes[digest] > limit * 1_000_000:
            raise _Refused(429, f"A key may send {limit:,} MB a minute.")


class _Request:
    """A request while its body is read, and the counts that it must release once it is answered."""

    def __init__(self, limits: RequestLimits, scope: Message, receive: Receive) -> None:
        headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}
        path = scope["path"]
        self._limits, self._receive = limits, receive
        self._key = headers.get("authorization") or headers.get("x-api-key") or ""
        self._by_key = path.startswith(KEY_PREFIXES)
        self._digest = authentication.digest_of(self._key) if self._by_key and self._key else ""
        max_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE + PAGE_SPARE_BYTES
        self._is_upload = bool(UPLOAD_PATH.fullmatch(path))
        max_bytes = settings.IMPORT_MEGABYTES * 2**20 + PAGE_SPARE_BYTES if self._is_upload else max_bytes
        self._max_bytes = MAX_GATEWAY_BYTES if path.startswith(GATEWAY_PREFIX) else max_bytes
        self._declared = int(length) if (length := headers.get("content-length", "")).isdecimal() else 0
        self._read, self._deadline = 0, time.monotonic() + PAUSE_SECONDS
        self._done = self._checked = self._is_heavy = False
        self._held: list[Callable[[int], None]] = []

    def begin(self) -> None:
        """Count the request for its key."""
        if self._digest:
            self._hold(lambda change: self._limits.open(self._digest, change))

    def end(self) -> None:
        """Release all counts of the request, even if it was refused."""
        for release in self._held:
            release(-1)

    def _hold(self, count: Callable[[int], None]) -> None:
        self._held.append(count)  # before counting: a refused request was counted, too
        count(1)

    async def receive(self) -> Message:
        """The next part of the body, within the limits. Messages after the body are passed on unchanged."""
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
        """Refuse a body that is too long; count a long one, or require a valid key for it."""
        if length > self._max_bytes:
            raise _Refused(413, f"The request body exceeds {self._max_bytes:,} bytes.")
        if length > MAX_UNKNOWN_BYTES and not self._checked:
            self._checked = True
            if self._is_upload:
                self._hold(self._limits.upload)
            elif not self._by_key:
                self._hold(self._limits.unknown)
            else:
                await _require_known(self._digest)
        if length > HEAVY_BYTES and self._digest and not self._is_heavy:
            self._is_heavy = True
            self._hold(lambda change: self._limits.heavy(self._digest, change))


async def _require_known(digest: str) -> None:
    """Refuse a key that is not valid, or that cannot be checked in time."""
    try:
        if not digest:
            raise authentication.Unauthenticated
        await accounts.find(digest, settings.GATEWAY_MEMORY_MILLISECONDS / 1000)
    except authentication.Unauthenticated as error:
        raise _Refused(401, str(error)) from None
    except Refusal as refusal:
        raise _Refused(refusal.status, str(refusal)) from None


async def _answer(send: Send, refused: _Refused) -> None:
    """Send an error in a format that OpenAI, Anthropic and API clients can parse.

    The connection is closed, because the rest of the request's body is not read.
    """
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
