"""Whose words they are: the names that clients send, and which of them a key trusts; over real sockets."""

from typing import Any
from uuid import uuid4

import pytest

from projects.gateway.request_identity import header_text
from tests.support.gateway_site import Gateway

pytestmark = [pytest.mark.own_servers]

PATHS = ["chat/completions", "messages", "responses"]
EVERYWHERE = {"X-Memory-User": "ann", "X-OpenWebUI-User-Email": "ben@acme.example"}


def author(served: Gateway, path: str, body: dict[str, Any] | None = None, name: str = "", **headers: str) -> str:
    """As whom a question is recorded."""
    message = {"role": "user", "content": f"Who says this, {uuid4()}?", **({"name": name} if name else {})}
    asked = {"input": [message]} if path == "responses" else {"messages": [message], "max_tokens": 99}
    status, response_headers, raw = served.post(f"/v1/{path}", {"model": "small", **asked, **(body or {})}, **headers)
    assert (status, response_headers["x-memory-turn"]) == (200, "recorded"), raw
    return str(served.turns()[-1]["author"])


def key(served: Gateway, names_from: str) -> dict[str, str]:
    """A key that takes names from these sources only."""
    options = ("--scopes", "write", "--names-from", names_from, "--json")
    made = served.site.call("create_api_key", "acme/apollo", "--name", "front end", *options)
    assert made.code == 0, made.err
    return {"Authorization": f"Bearer {made.json['key']}"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"user": "cy"}, "cy"),
        ({"safety_identifier": "dora"}, "dora"),
        ({"metadata": {"user_id": "eve"}}, "eve"),
        ({"metadata": {"user_id": '{"device_id": "0123", "session_id": "4567"}'}}, "desk"),
    ],
)
def test_a_body_names_the_person_in_every_protocol(served: Gateway, path: str, body: dict[str, Any], name: str) -> None:
    assert author(served, path, body) == name


@pytest.mark.parametrize("path", PATHS)
def test_a_front_end_names_its_people_in_headers(served: Gateway, path: str) -> None:
    named = {"X-OpenWebUI-User-Name": "J%C3%BCrgen%20Wei%C3%9F", "X-OpenWebUI-User-Id": "u-1"}
    assert author(served, path, **named) == "u-1"
    assert author(served, path, **{"X-OpenWebUI-User-Name": "J%C3%BCrgen Wei%C3%9F"}) == "Jürgen Weiß"
    assert author(served, path, **named, **{"X-OpenWebUI-User-Email": "j@acme.example"}) == "j@acme.example"


def test_two_people_of_a_front_end_are_never_one(served: Gateway) -> None:
    message = {"role": "user", "content": "Good evening."}
    chats = []
    for email in ("ann@acme.example", "ben@acme.example"):
        headers = {"X-OpenWebUI-User-Email": email, "X-OpenWebUI-Chat-Id": "c-1"}
        body = {"model": "small", "messages": [message]}
        chats.append(served.post("/v1/chat/completions", body, **headers)[1]["x-memory-chat"])
    assert chats[0] != chats[1]


def test_a_key_takes_names_only_from_where_it_is_told_to(served: Gateway) -> None:
    body = {"user": "cy"}
    for sources, name in (
        ("memory,front_end,body,message", "ann"),
        ("front_end,body,message", "ben@acme.example"),
        ("body,message", "cy"),
        ("message", "dora"),
        ("none", "front end"),
    ):
        headers = {**EVERYWHERE, **key(served, sources)}
        assert author(served, "chat/completions", body, "dora", **headers) == name, sources


def test_the_name_of_a_message_is_not_taken_unless_it_is_trusted(served: Gateway) -> None:
    assert author(served, "chat/completions", name="dora") == "desk"
    assert author(served, "chat/completions", name="dora", **key(served, "message")) == "dora"


def test_an_unknown_source_of_names_is_refused(served: Gateway) -> None:
    made = served.site.call(
        "create_api_key", "acme/apollo", "--name", "x", "--scopes", "write", "--names-from", "rumour"
    )
    assert made.code != 0
    assert "name_sources: any of memory, front_end, body, message" in made.err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Priya", "Priya"),
        ("J%C3%BCrgen", "Jürgen"),
        ("UTF-8''J%C3%BCrgen", "Jürgen"),
        ("utf-8'de'J%c3%bcrgen", "Jürgen"),
        ("Jürgen".encode().decode("latin-1"), "Jürgen"),
        ("J\xfcrgen", "Jürgen"),
        ("100%", "100%"),
        ("%E4%BD%A0%E5%A5%BD", "你好"),
    ],
)
def test_names_in_headers_may_be_in_any_script(value: str, text: str) -> None:
    assert header_text(value) == text
