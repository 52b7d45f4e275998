"""Accept a request: authenticate it, choose its upstream and add memory. Blocks on the database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from memorybank.services import LLMCall
from projects.tenancy import api_keys, permissions

from ..models import APIKey
from .protocols import Protocol, UnsupportedRequest
from .refusals import Refusal
from .turn_recording import MemoryInjection, inject_memory
from .upstreams import Target, target_of

#: Bodies may contain pictures.
MAX_BODY_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint: its URL name, its path upstream, its purpose in the ledger; ``remembers`` if chats use it."""

    name: str
    path: str
    protocol: Protocol
    purpose: LLMCall.Purpose | None = None
    remembers: bool = False
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """An accepted request."""

    key: APIKey
    route: Route
    target: Target
    injection: MemoryInjection
    content: bytes
    received_at: datetime


def accept_request(route: Route, headers: Mapping[str, str], raw: bytes) -> GatewayRequest:
    """Raises :class:`Refusal`."""
    now = timezone.now()
    key = _authenticate(route, headers, now)
    body = _parse_body(raw) if route.method == "POST" else {}
    try:
        route.protocol.check(body)
    except UnsupportedRequest as error:
        raise Refusal(400, str(error)) from None
    target = target_of(key.project, route.protocol.upstream)
    if "model" in body:
        target.require_model(body["model"])
    injection = inject_memory(key, route.protocol, body, headers) if route.remembers else MemoryInjection(body)
    content = raw if injection.body is body else _encode(injection.body)
    return GatewayRequest(key, route, target, injection, content, now)


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only JSON escapes can encode
        return json.dumps(body).encode()


def _authenticate(route: Route, headers: Mapping[str, str], now: datetime) -> APIKey:
    try:
        if not (header := api_keys.presented(headers)):
            raise api_keys.Unauthenticated
        return api_keys.authenticated(header, permissions.SCOPES[route.name][route.method], now=now)
    except api_keys.Refused as error:
        raise Refusal(error.status, str(error), getattr(error, "retry_after", 0)) from None


def _parse_body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The body is not valid JSON: {error}."[:300]) from None
    if not isinstance(body, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return body
