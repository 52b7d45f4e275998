"""The site's ASGI handler: requests to the gateway need no thread of Django's, and end as all others do."""

import asyncio
from typing import Any

import pytest
from django.core.signals import request_started

from config.handler import Handler

Message = dict[str, Any]


@pytest.fixture(autouse=True)
def only_the_gateway(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.MIDDLEWARE = ["config.middleware.gateway.gateway_shortcut"]


def answer(path: str, *received: Message, raw: bytes = b"") -> list[Message]:
    """What the handler sends."""

    async def ask() -> list[Message]:
        messages, sent = iter(received), list[Message]()

        async def receive() -> Message:
            if (message := next(messages, None)) is None:
                await asyncio.Event().wait()  # the client stays
            assert message is not None
            return message

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"host", b"testserver"), (b"authorization", b"Bearer mb_unknown")]
        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": raw}
        await Handler()({**scope, "headers": headers, "scheme": "http", "http_version": "1.1"}, receive, send)
        return sent

    return asyncio.run(ask())


BODY_MESSAGE: Message = {"type": "http.request", "body": b"{}"}


def test_a_gateway_request_sends_none_of_the_signals_of_a_page() -> None:
    started: list[object] = []

    def count(**values: object) -> None:
        started.append(values)

    request_started.connect(count)
    try:
        sent = answer("/v1/nowhere", BODY_MESSAGE)
    finally:
        request_started.disconnect(count)
    assert sent[0]["status"] == 404 and b"no such address" in sent[1]["body"]
    assert started == []


def test_a_client_that_leaves_while_its_body_is_read_gets_nothing() -> None:
    assert answer("/v1/nowhere", {"type": "http.disconnect"}) == []


@pytest.mark.parametrize("parts", [1, 3])
def test_a_body_may_come_in_parts(parts: int) -> None:
    pieces: list[Message] = [{"type": "http.request", "body": b" ", "more_body": True}] * parts
    assert answer("/v1/nowhere", *pieces, BODY_MESSAGE)[0]["status"] == 404
