"""Streams through the gateway: no buffering, a disconnect stops the upstream, and every call is in the ledger."""

import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.gateway_site import Gateway, gateway
from tests.support.upstream import wait_until

pytestmark = [pytest.mark.own_servers]

BODY: dict[str, Any] = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Tell me of it."}]}


def client(served: Gateway) -> OpenAI:
    return served.use(OpenAI(base_url=served.base_url, api_key=served.key(), max_retries=0))


def began(served: Gateway, body: dict[str, Any], path: str = "/v1/chat/completions") -> socket.socket:
    """Send a request and return the response unread."""
    host, _, port = served.address.removeprefix("http://").partition(":")
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {served.key()}\r\n"
    sent = socket.create_connection((host, int(port)), timeout=600)
    sent.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw)
    return sent


def last_turn(served: Gateway, question: str) -> dict[str, Any]:
    return [turn for turn in served.turns() if turn["question"] == question][-1]


def test_a_stream_is_not_buffered(served: Gateway) -> None:
    calls, served.upstream.pace = len(served.calls()), 3600
    with closing(began(served, BODY)) as waiting:
        seen = b""
        while b'"content": ""' not in seen:  # the first event, an hour before the second
            seen += waiting.recv(65536)
    assert b"x-memory-chat" in seen
    wait_until(lambda: len(served.calls()) == calls + 1, "on the ledger")  # before another test counts calls


@pytest.mark.parametrize("first_token", [True, False])
def test_a_client_that_goes_away_cancels_the_upstream_and_its_cost_is_estimated(
    served: Gateway, first_token: bool
) -> None:
    question = f"Gone {'after' if first_token else 'before'} the first token."
    calls, gone = len(served.calls()), served.upstream.gone
    served.upstream.pace, served.upstream.delay = 3600, 0 if first_token else 3600
    body = {**BODY, "messages": [{"role": "user", "content": question}]}
    with closing(began(served, body)) as waiting:
        if first_token:
            waiting.recv(10)
        wait_until(lambda: served.upstream.seen, "asked")
        wait_until(lambda: question in [turn["question"] for turn in served.turns()], "recorded before it is answered")
    wait_until(lambda: served.upstream.gone == gone + 1, f"noticed: {served.site.output()}")
    wait_until(lambda: len(served.calls()) == calls + 1, "on the ledger")
    call = served.calls()[-1]
    assert call["prompt_tokens"] > 0
    assert last_turn(served, question)["status"] == "cancelled"


def test_a_stream_without_figures_is_estimated_and_no_chunk_is_added(served: Gateway) -> None:
    stream = client(served).chat.completions.create(**BODY)
    chunks = list(stream)
    assert all(chunk.usage is None for chunk in chunks)
    assert served.calls()[-1]["prompt_tokens"] > 0 and served.calls()[-1]["completion_tokens"] > 0
    *_, last = client(served).chat.completions.create(**BODY, stream_options={"include_usage": True})
    assert last.usage.total_tokens
    assert served.calls()[-1]["prompt_tokens"] == last.usage.prompt_tokens


def test_a_broken_stream_ends_with_an_error_event_and_is_recorded_as_an_error(served: Gateway) -> None:
    from anthropic import Anthropic, APIStatusError  # takes seconds, in each process that collects this module

    served.upstream.break_after = 3
    fields = {"messages": [{"role": "user", "content": "A stream of one."}], "model": "small"}
    with pytest.raises(openai.APIError, match="broke off"):
        list(client(served).chat.completions.create(**fields, stream=True))  # type: ignore[call-overload]
    assert last_turn(served, "A stream of one.")["status"] == "error"
    *_, last = client(served).responses.create(model="small", input="A stream of two.", stream=True)
    assert (last.type, "broke off" in last.message) == ("error", True)
    claude = served.use(Anthropic(base_url=served.address, api_key=served.key(), max_retries=0))
    with pytest.raises(APIStatusError, match="broke off"):
        list(claude.messages.create(**fields, max_tokens=9, stream=True))  # type: ignore[call-overload]
    assert served.calls()[-1]["outcome"] == "unavailable"


def test_an_upstream_that_is_not_there_is_a_bad_gateway(served: Gateway) -> None:
    served.upstream.status = 200
    served.upstream.break_after = 0
    status, _, raw = served.post("/v1/nothing", {})
    assert status == 404
    served.site.tell(
        "INSERT INTO projects_upstream (project_id, protocol, base_url, sealed_key, allowed)"
        " SELECT id, 'openai', 'http://127.0.0.1:9/v1', '', 'small' FROM projects_project WHERE slug = 'zeus'"
    )
    key = f"Bearer {served.key('globex/zeus')}"
    status, _, raw = served.post("/v1/chat/completions", {**BODY, "stream": False}, Authorization=key)
    assert (status, json.loads(raw)["error"]["message"]) == (502, "The upstream is unreachable.")
    status, _, raw = served.post("/v1/chat/completions", {**BODY, "model": "large"}, Authorization=key)
    assert (status, "may not use" in json.loads(raw)["error"]["message"]) == (404, True)
    assert b"large" not in raw


def test_a_server_that_is_asked_to_stop_lets_streams_end(tmp_path: Path) -> None:
    with gateway(tmp_path) as served:  # a separate gateway: the shared one must stay up for other tests
        served.upstream.pace = 0.2
        with closing(began(served, BODY)) as waiting:
            seen = waiting.recv(65536)
            served.stop()
            while more := waiting.recv(65536):
                seen += more
        assert b"data: [DONE]" in seen
        assert last_turn(served, "Tell me of it.")["status"] == "ok"
