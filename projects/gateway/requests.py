"""Accept a request: authenticate it, choose its upstream and add memory. Blocks on the database."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.utils import timezone

from memorybank.services import LLMCall
from projects.tenancy import authentication, permissions

from ..models import APIKey
from .protocols import Protocol, UnsupportedRequest
from .refusals import Refusal
from .turn_recording import MemoryInjection, inject_memory
from .upstreams import Target, target_of

#: Names as providers form them: parts of letters, digits and some signs, parted by slashes; no part begins with a dot.
MODEL_ID = re.compile(r"(?=.{1,200}\Z)[A-Za-z0-9_@~][A-Za-z0-9_.:@~+-]*(/[A-Za-z0-9_@~][A-Za-z0-9_.:@~+-]*)*")
#: Bodies may contain pictures.
MAX_BODY_BYTES = 32 * 1024 * 1024
#: In one request, with their parts.
MAX_MESSAGES = 10_000


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint: its URL name, its path upstream, its purpose in the ledger; ``remembers`` if chats use it.

    ``model`` is the model that the address names, as the client wrote it.
    """

    name: str
    path: str
    protocol: Protocol
    purpose: LLMCall.Purpose | None = None
    remembers: bool = False
    method: str = "POST"
    model: str = ""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """An accepted request. ``path`` is its path upstream."""

    key: APIKey
    route: Route
    target: Target
    path: str
    injection: MemoryInjection
    content: bytes
    received_at: datetime

    @property
    def sent(self) -> list[Any]:
        """The upstream's key and the body: what no error may repeat."""
        return [self.target.api_key, self.injection.body]


def accept_request(route: Route, headers: Mapping[str, str], raw: bytes) -> GatewayRequest:
    """Raises :class:`Refusal`."""
    now = timezone.now()
    key = _authenticate(route, headers, now)
    body = _parse_body(raw) if route.method == "POST" else {}
    try:
        route.protocol.check(body)
    except UnsupportedRequest as error:
        raise Refusal(400, str(error)) from None
    _require_bounded(body)
    target = target_of(key.project, route.protocol.upstream)
    path = _path(route, target)
    if route.method == "POST":
        target.require_model(body.get("model"))
    injection = inject_memory(key, route.protocol, body, headers) if route.remembers else MemoryInjection(body)
    # What was parsed is sent, never what arrived: of a key that stands twice, the upstream may read the other one.
    content = _encode(injection.body) if route.method == "POST" else b""
    return GatewayRequest(key, route, target, path, injection, content, now)


def _path(route: Route, target: Target) -> str:
    """The path upstream. A model's name is one quoted segment, so it never leads to another address."""
    if not route.model:
        return route.path
    if not MODEL_ID.fullmatch(route.model):
        raise Refusal(404, "model: no model has such a name.")
    target.require_model(route.model)
    return f"{route.path}/{quote(route.model, safe='')}"


def _require_bounded(body: dict[str, Any]) -> None:
    """Refuse more messages, or parts of messages, than anybody reads."""
    for name in ("messages", "input"):
        messages = body.get(name)
        if not isinstance(messages, list):
            continue
        parts = sum(len(message["content"]) for message in messages if _has_parts(message))
        if len(messages) + parts > MAX_MESSAGES:
            raise Refusal(413, f"{name}: at most {MAX_MESSAGES:,} messages and parts of messages are allowed.")


def _has_parts(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), list)


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only JSON escapes can encode
        return json.dumps(body).encode()


def _authenticate(route: Route, headers: Mapping[str, str], now: datetime) -> APIKey:
    try:
        if not (header := authentication.key_header(headers)):
            raise authentication.Unauthenticated
        return authentication.authenticate(header, permissions.SCOPES[route.name][route.method], now=now)
    except authentication.Refused as error:
        raise Refusal(error.status, str(error), getattr(error, "retry_after", 0)) from None


def _parse_body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The body is not valid JSON: {error}."[:300]) from None
    if not isinstance(body, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return body
