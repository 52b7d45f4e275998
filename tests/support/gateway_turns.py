"""A turn as the gateway reads it from a request, in this thread and on the test's own database connection."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.datastructures import CaseInsensitiveMapping

from projects.gateway.memory_injection import GatewayTurn, inject_memory, read_turn
from projects.gateway.requests import Route
from projects.tenancy import authentication


def turn_of(secret: str, route: Route, body: dict[str, Any], headers: Mapping[str, str] = {}) -> GatewayTurn:
    """The turn of a request with this key, with its memory."""
    now = timezone.now()
    key = authentication.find(authentication.digest_of(secret), now)
    assert key, "a valid key"
    turn = read_turn(key, route.protocol, body, CaseInsensitiveMapping(headers), now)
    assert turn, "a turn of a chat"
    injected = inject_memory(turn, route.protocol, body).turn
    assert injected
    return injected
