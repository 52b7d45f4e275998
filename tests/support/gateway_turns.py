"""Read a turn from a request as the gateway does, but in this thread and on the test's database connection."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from django.utils.datastructures import CaseInsensitiveMapping

from projects.gateway.conversations.turn import GatewayTurn
from projects.gateway.memory_injection import inject_memory, read_turn
from projects.gateway.routes import Route
from projects.models import APIKey


def turn_of(key: APIKey, route: Route, body: dict[str, Any], headers: Mapping[str, str] = {}) -> GatewayTurn:
    """The turn of a request with this API key, including its memory."""
    turn = read_turn(key, route.protocol, body, CaseInsensitiveMapping(headers), timezone.now())
    assert turn, "a turn of a chat"
    injected = inject_memory(turn, route.protocol, body).turn
    assert injected
    return injected
