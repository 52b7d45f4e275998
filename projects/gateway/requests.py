"""A request taken in: whose it is, where it goes and with what memory. One hop to the database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from memorybank.services import LLMCall
from projects.tenancy import api_keys, permissions

from ..models import APIKey
from .protocols import Protocol, Unacceptable
from .refusals import Refusal
from .turn_recording import Given, given
from .upstreams import Target, target_of

#: Pictures come within a body; more than this is no prompt.
MAX_BODY = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Route:
    """One address: its name here, its path upstream, whether chats go on there; ``purpose`` is the ledger's."""

    name: str
    path: str
    protocol: Protocol
    purpose: LLMCall.Purpose | None = None
    remembers: bool = False
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Taken:
    """A request on its way."""

    key: APIKey
    route: Route
    target: Target
    given: Given
    content: bytes
    at: datetime


def take(route: Route, headers: Mapping[str, str], raw: bytes) -> Taken:
    """Raises :class:`Refusal`."""
    now = timezone.now()
    key = _opened(route, headers, now)
    body = _body(raw) if route.method == "POST" else {}
    try:
        route.protocol.check(body)
    except Unacceptable as error:
        raise Refusal(400, str(error)) from None
    target = target_of(key.project, route.protocol.upstream)
    if "model" in body:
        target.require(body["model"])
    with_memory = given(key, route.protocol, body, headers) if route.remembers else Given(body)
    content = raw if with_memory.body is body else _spelt(with_memory.body)
    return Taken(key, route, target, with_memory, content, now)


def _spelt(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair can only be spelt as JSON spells it
        return json.dumps(body).encode()


def _opened(route: Route, headers: Mapping[str, str], now: datetime) -> APIKey:
    try:
        if not (header := api_keys.presented(headers)):
            raise api_keys.Unauthenticated
        return api_keys.authenticated(header, permissions.SCOPES[route.name][route.method], now=now)
    except api_keys.Refused as error:
        raise Refusal(error.status, str(error), getattr(error, "retry_after", 0)) from None


def _body(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"This is not JSON: {error}."[:300]) from None
    if not isinstance(body, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return body
