"""What passes between programs and an upstream: one model's address, allowed models, listed headers, no cookies."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.gateway_site import Gateway

CHAT = "/v1/chat/completions"
CHAT_BODY = {"model": "small", "messages": [{"role": "user", "content": "Hello there"}]}
ALLOW = """
from projects.models import Project, Upstream
project = Project.objects.get(tenant__slug="acme", slug="hermes")
Upstream.objects.filter(project=project).delete()
upstream = Upstream(project=project, protocol="openai", base_url="{url}", allowed="small", passed_headers="X-Team")
upstream.api_key = "sk-hermes"
upstream.save()
"""


@pytest.fixture
def limited(served: Gateway) -> Iterator[Gateway]:
    """The project Hermes may ask the model "small" only."""
    done = served.site.call("shell", "--verbosity", "0", "-c", ALLOW.format(url=served.upstream.base_url))
    assert done.code == 0, done.err
    yield served


def get(gateway: Gateway, path: str, project: str = "acme/apollo") -> tuple[int, bytes]:
    """Request exactly this path: other clients resolve dots before they send."""
    address = urlsplit(gateway.address)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=120)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {gateway.key(project)}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "name",
    [
        "../files",
        "..%2Ffiles",
        "%2e%2e/files",
        "%2e%2e%2ffiles",
        "a/../../admin",
        "/../../admin",
        "x%3Fa=b",
        "x%23a",
        ".",
        "a/./b",
        "a//b",
        "a%5C..%5Cb",
        "x%252F..",
        "a%0d%0ab",
    ],
)
def test_the_name_of_a_model_leads_to_no_other_address_of_the_upstream(served: Gateway, name: str) -> None:
    status, _ = get(served, f"/v1/models/{name}")
    assert (status, [seen.path for seen in served.upstream.seen]) == (404, [])


def test_the_name_of_a_model_is_sent_as_one_quoted_segment(served: Gateway) -> None:
    assert get(served, "/v1/models/small")[0] == 200
    get(served, "/v1/models/meta/llama-3:free?limit=3&key=secret")
    assert [seen.path for seen in served.upstream.seen] == [
        "/v1/models/small",
        "/v1/models/meta%2Fllama-3%3Afree?limit=3",
    ]


def test_only_an_allowed_model_is_asked_or_described(limited: Gateway) -> None:
    key = {"Authorization": f"Bearer {limited.key('acme/hermes')}"}
    assert get(limited, "/v1/models/huge", "acme/hermes")[0] == 404
    words = json.dumps(CHAT_BODY["messages"])
    twice = f'{{"model": "huge", "messages": {words}, "model": "small"}}'.encode()
    assert limited.post(CHAT, b'{"messages": %s}' % words.encode(), **key)[0] == 400
    assert limited.post(CHAT, {**CHAT_BODY, "model": ["small"]}, **key)[0] == 400
    assert limited.post(CHAT, {**CHAT_BODY, "model": "huge"}, **key)[0] == 404
    assert limited.post("/v1/embeddings", {"input": "a"}, **key)[0] == 400
    assert not limited.upstream.seen
    assert limited.post(CHAT, twice, **{**key, "X-Memory": "off"})[0] == 200
    assert limited.upstream.seen[0].raw.count(b'"model"') == 1
    assert limited.upstream.seen[0].body["model"] == "small"


def test_a_cookie_of_an_upstream_is_neither_kept_nor_passed_on(served: Gateway) -> None:
    served.upstream.headers = {"Set-Cookie": "tenant=acme; Path=/"}
    assert "set-cookie" not in served.post(CHAT, CHAT_BODY)[1]
    served.post(CHAT, CHAT_BODY, Authorization=f"Bearer {served.key('globex/zeus')}")
    assert ["cookie" in seen.headers for seen in served.upstream.seen] == [False, False]


IDENTITIES = {
    "X-OpenWebUI-User-Email": "priya@acme.example",
    "X-Auth-Request-Email": "priya@acme.example",
    "Remote-User": "priya",
    "CF-Connecting-IP": "192.0.2.7",
    "True-Client-IP": "192.0.2.7",
    "Api-Key": "other",
    "X-Goog-Api-Key": "other",
    "X-LiteLLM-Api-Key": "other",
    "OpenAI-Organization": "org-other",
    "OpenAI-Project": "proj-other",
    "Cookie": "session=1",
    "Anything-Else": "1",
}


def test_only_listed_headers_of_a_program_reach_the_upstream(limited: Gateway) -> None:
    passed = {"OpenAI-Beta": "x=1", "X-Stainless-Lang": "python", "X-Team": "blue"}
    limited.post(CHAT, CHAT_BODY, **IDENTITIES, **passed)
    limited.post(CHAT, CHAT_BODY, **IDENTITIES, **passed, Authorization=f"Bearer {limited.key('acme/hermes')}")
    site_wide, own = [seen.headers for seen in limited.upstream.seen]
    for headers in (site_wide, own):
        assert not {name.lower() for name in IDENTITIES} & set(headers)
        assert (headers["openai-beta"], headers["x-stainless-lang"]) == ("x=1", "python")
    assert ("x-team" in site_wide, own["x-team"], own["authorization"]) == (False, "blue", "Bearer sk-hermes")


@pytest.mark.parametrize("more", [{}, {"stream": True}])
def test_no_header_of_an_upstream_replaces_ours(served: Gateway, more: dict[str, Any]) -> None:
    served.upstream.headers = {
        "Content-Security-Policy": "default-src *",
        "Clear-Site-Data": '"*"',
        "Strict-Transport-Security": "max-age=1",
        "Access-Control-Allow-Origin": "*",
        "Cache-Control": "public",
        "Location": "https://evil.example",
        "Refresh": "0",
        "X-RateLimit-Remaining-Requests": "7",
        "X-Request-ID": "req_7",
    }
    _, headers, _ = served.post(CHAT, {**CHAT_BODY, **more}, **{"X-Request-ID": "trace-7"})
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "private, no-store"
    ours = {"clear-site-data", "strict-transport-security", "access-control-allow-origin", "location", "refresh"}
    assert not ours & set(headers)
    assert (headers["x-ratelimit-remaining-requests"], headers["x-request-id"]) == ("7", "req_7")
    assert headers["x-memory-request-id"] == "trace-7"


def test_an_upstreams_page_is_no_page_of_this_site(served: Gateway) -> None:
    served.upstream.headers = {"Content-Type": "text/html"}
    _, headers, _ = served.post(CHAT, CHAT_BODY)
    assert (headers["content-type"], headers["x-content-type-options"]) == ("application/octet-stream", "nosniff")
