"""Accept a request: authenticate it, choose its upstream and add memory, within a budget of time."""

import json
import logging
import re
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

from django.conf import settings
from django.utils import timezone
from pydantic_core import from_json, to_json

from memorybank.exceptions import log_message
from projects.tenancy import authentication, permissions
from projects.web.refusal_texts import not_json

from ..models import APIKey
from . import memory_injection
from .database import accounts, upstream_objects
from .database.accounts import Account
from .database.threads import readers
from .memory_injection import MemoryInjection, SkipReason
from .protocols import Protocol
from .refusals import Refusal
from .routes import Route
from .upstream.targets import UpstreamTarget

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

#: Model names of the providers: letters, digits and some signs, with slashes between parts; no part begins with a dot.
MODEL_ID = re.compile(r"(?=.{1,200}\Z)[A-Za-z0-9_@~][A-Za-z0-9_.:@~+-]*(/[A-Za-z0-9_@~][A-Za-z0-9_.:@~+-]*)*")
#: Bodies may contain pictures.
MAX_BODY_BYTES = 32 * 1024 * 1024
TOO_LONG_MESSAGE = f"The request body exceeds {MAX_BODY_BYTES // 2**20} MiB."
#: The maximum of messages in one request, counted together with their parts.
MAX_MESSAGES = 10_000
#: A longer body is parsed in a thread, so that it does not block the event loop.
MAX_BYTES_ON_LOOP = 2**16


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """An accepted request. ``path`` is its path upstream."""

    key: APIKey
    route: Route
    target: UpstreamTarget
    path: str
    injection: MemoryInjection
    content: bytes
    received_at: datetime

    @property
    def creates(self) -> bool:
        """Whether the upstream may store its answer under a new id."""
        return self.route.method == "POST" and self.route.protocol.stores(self.injection.body)

    @property
    def sent(self) -> list[Any]:
        """The upstream's key and the body, which no error may repeat."""
        return [self.target.api_key, self.injection.body]


async def accept_request(route: Route, headers: Mapping[str, str], raw: bytes) -> GatewayRequest:
    """Accept a request or raise :class:`Refusal`; wait at most ``GATEWAY_MEMORY_MILLISECONDS`` for the database."""
    now, until = timezone.now(), time.monotonic() + settings.GATEWAY_MEMORY_MILLISECONDS / 1000
    account = await _authenticate(route, headers, until, now)
    raw = await _decoded(raw, headers.get("Content-Encoding", ""))
    has_body = route.method == "POST" and (raw or not route.object_id)
    body = await _off_the_loop(len(raw), _parse_body, raw) if has_body else {}
    _require_bounded(body)
    target = account.target(route.protocol.upstream)
    path = _path(route, target)
    if route.optional:
        target.require_passed(path)
    if has_body and route.has_model:
        target.require_model(body.get("model"))
    seconds = until - time.monotonic()
    await upstream_objects.require_own(account.key, route.protocol, target, body, route.object_id, headers, seconds)
    injection = MemoryInjection(body)
    if route.remembers:
        injection = await _with_memory(account.key, route.protocol, body, headers, len(raw), until, now)
    # Send the parsed body, never the raw bytes: if a JSON key occurs twice, the upstream may read the other value.
    content = await _off_the_loop(len(raw), _encode, injection.body, len(raw)) if has_body else b""
    return GatewayRequest(account.key, route, target, path, injection, content, now)


async def _off_the_loop(size: int, work: Callable[..., Result], *args: object) -> Result:
    """Run ``work`` here if ``size`` is at most ``MAX_BYTES_ON_LOOP``, otherwise in a thread."""
    return await readers.run(work, *args) if size > MAX_BYTES_ON_LOOP else work(*args)


async def _with_memory(
    key: APIKey,
    protocol: Protocol,
    body: dict[str, Any],
    headers: Mapping[str, str],
    size: int,
    until: float,
    now: datetime,
) -> MemoryInjection:
    """The body with memory, or without it if memory is not ready by ``until`` (monotonic clock)."""
    try:
        turn = await _off_the_loop(size, memory_injection.read_turn, key, protocol, body, headers, now)
    except Exception as error:  # the body does not follow the protocol, which the upstream will report
        logger.info("gateway: a request could not be read: %s", log_message(error))
        return MemoryInjection(body, skipped=SkipReason.FAILED)
    if turn is None:
        return MemoryInjection(body, skipped=SkipReason.ASIDE)
    try:
        return await readers.run_within(until - time.monotonic(), memory_injection.inject_memory, turn, protocol, body)
    except TimeoutError:
        return memory_injection.without_memory(turn, body, SkipReason.SLOW)


def _path(route: Route, target: UpstreamTarget) -> str:
    """The path upstream. A model's name is one quoted segment, so it never leads to another address."""
    if not route.model:
        return route.path
    if not MODEL_ID.fullmatch(route.model):
        raise Refusal(404, "model: no model has such a name.")
    target.require_model(route.model)
    return f"{route.path}/{quote(route.model, safe='')}"


def _require_bounded(body: dict[str, Any]) -> None:
    """Refuse a body with more than ``MAX_MESSAGES`` messages and parts of messages."""
    for name in ("messages", "input"):
        messages = body.get(name)
        if not isinstance(messages, list):
            continue
        parts = sum(len(message["content"]) for message in messages if _has_parts(message))
        if len(messages) + parts > MAX_MESSAGES:
            raise Refusal(413, f"{name}: at most {MAX_MESSAGES:,} messages and parts of messages are allowed.")


def _has_parts(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), list)


def _loads(raw: bytes) -> Any:
    """Parse JSON as ``json.loads`` does, in a third of the time if the body is long."""
    try:
        return from_json(raw, cache_strings="keys")  # a person's words are kept by nobody
    except ValueError:  # not JSON; or JSON that only the standard library reads: other encodings, deep nesting
        return json.loads(raw)


def _encode(body: dict[str, Any], size: int) -> bytes:
    """The body as JSON. A long one is written without spaces, as the vendors' clients do, in a third of the time."""
    if size > MAX_BYTES_ON_LOOP:
        with suppress(ValueError):  # as below, or nested too deeply
            return to_json(body)
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only JSON escapes can encode
        return json.dumps(body).encode()


async def _authenticate(route: Route, headers: Mapping[str, str], until: float, now: datetime) -> Account:
    try:
        account = await accounts.authenticate(headers, until - time.monotonic(), now)
        authentication.require_scope(account.key, permissions.URL_SCOPES[route.name][route.method])
    except authentication.Refused as error:
        raise Refusal(error.status, str(error), getattr(error, "retry_after", 0)) from None
    return account


async def _decoded(raw: bytes, encoding: str) -> bytes:
    """Decompress the body; called after authentication, so that the cost can be traced to a key."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding not in ("gzip", "x-gzip"):
        raise Refusal(415, "Content-Encoding: only gzip is supported.")
    return await readers.run(_unzip, raw)


def _unzip(raw: bytes) -> bytes:
    unzipping = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = unzipping.decompress(raw, MAX_BODY_BYTES + 1)
    except zlib.error:
        raise Refusal(400, "The body is not valid gzip.") from None
    if len(content) > MAX_BODY_BYTES:
        raise Refusal(413, TOO_LONG_MESSAGE)
    if not unzipping.eof:
        raise Refusal(400, "The body is not valid gzip.")
    return content


def _parse_body(raw: bytes) -> dict[str, Any]:
    try:
        body = _loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, not_json(error)) from None
    if not isinstance(body, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return body
