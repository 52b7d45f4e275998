"""Compressed requests, requests of other sites' pages, and streams whose upstream reports an error itself."""

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from projects.gateway.requests import MAX_BYTES_ON_LOOP
from tests.support.gateway_site import Gateway, gateway
from tests.support.upstream import ModelAnswer

pytestmark = [pytest.mark.own_servers]
CHAT, SITE, SENT = "/v1/chat/completions", "https://app.example.com", "grimsvale-4711"


def body(question: str, **more: Any) -> dict[str, Any]:
    return {"model": "small", "messages": [{"role": "user", "content": question}], "max_tokens": 9, **more}


def test_a_compressed_request_is_read_and_sent_on_plain(served: Gateway) -> None:
    packed = gzip.compress(json.dumps(body("Packed.")).encode())
    assert served.post(CHAT, packed, **{"Content-Encoding": "gzip"})[0] == 200
    seen = served.upstream.seen[-1]
    assert (seen.body["messages"][-1]["content"], "content-encoding" in seen.headers) == ("Packed.", False)
    assert [turn["question"] for turn in served.turns()][-1] == "Packed."


@pytest.mark.parametrize(
    "value",
    ['"half a pair: \\ud83d"', str(2**70), "-1e400", "NaN", "0.1", '"\\u0000 \\u2028 ü"', "[" * 400 + "]" * 400],
    ids=["surrogate", "large number", "infinite", "no number", "fraction", "signs", "nested"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("length", [10, MAX_BYTES_ON_LOOP])
def test_whatever_json_can_say_is_sent_on(served: Gateway, value: str, encoding: str, length: int) -> None:
    raw = json.dumps(body("x" * length)).removesuffix("}") + f', "vendor": {value}, "vendor": {value}}}'
    assert served.post(CHAT, raw.encode(encoding))[0] == 200
    sent = json.dumps(served.upstream.seen[-1].body["vendor"])
    assert sent == json.dumps(json.loads(value))


@pytest.mark.parametrize(
    ("raw", "encoding", "status"),
    [
        (gzip.compress(b" " * (33 * 2**20)), "gzip", 413),
        (gzip.compress(b"{}")[:-9], "gzip", 400),
        (b"{}", "gzip", 400),
        (b"{}", "br", 415),
    ],
    ids=["a bomb", "cut off", "plain", "unknown"],
)
def test_what_is_not_a_bounded_gzip_is_refused_in_the_protocol(
    served: Gateway, raw: bytes, encoding: str, status: int
) -> None:
    asked = len(served.upstream.seen)
    answer = served.post("/v1/messages", raw, **{"Content-Encoding": encoding})
    assert (answer[0], json.loads(answer[2])["type"], len(served.upstream.seen)) == (status, "error", asked)
    stranger = served.post(CHAT, raw, **{"Content-Encoding": encoding, "Authorization": "Bearer mb_none"})
    assert stranger[0] == 401, "nothing is unpacked for nobody"


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/responses", "/v1/embeddings", f"/v1/{SENT}"])
def test_a_refusal_repeats_nothing_that_was_sent(served: Gateway, path: str) -> None:
    asked = len(served.upstream.seen)
    for raw in (
        SENT,
        f'"{SENT}',
        f'"{SENT}"',
        f'["{SENT}"]',
        f'{{"{SENT}": {SENT}',
        f'"{SENT}\udcff"',
    ):
        status, _, page = served.post(path, raw.encode("utf-8", "surrogateescape"))
        assert (status >= 400, SENT.encode() in page, b"xff" in page) == (True, False, False)
    for headers in ({"Content-Encoding": SENT}, {"Authorization": f"Bearer {SENT}"}, {"Host": f"{SENT}.example"}):
        status, _, page = served.post(path, body(SENT), **headers)
        assert (status >= 400, SENT.encode() in page) == (True, False)
    stored = {"input": "x", "previous_response_id": SENT, "model": "small"}
    assert SENT.encode() not in served.post("/v1/responses", stored)[2]
    for at, method in ((f"/v1/models/{SENT}/..", "GET"), (f"/v1/responses/{SENT}", "DELETE"), (path, SENT.upper())):
        status, _, page = served.post(at, None, method=method)
        assert (status >= 400, SENT.lower() in page.decode().lower()) == (True, False)
    assert len(served.upstream.seen) == asked


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/responses"])
@pytest.mark.parametrize("breaks", [False, True])
def test_an_upstream_that_reports_its_error_is_not_corrected(served: Gateway, path: str, breaks: bool) -> None:
    served.upstream.answer = lambda _: ModelAnswer("Well, then.", error="overloaded")
    _, _, raw = served.post(path, body("A stream.", input="A stream.", stream=True))
    served.upstream.break_after = raw.count(b"\n\n") if breaks else 0
    _, _, raw = served.post(path, body("A stream.", input="A stream.", stream=True))
    assert (raw.count(b"overloaded"), raw.count(b"broke off")) == (1, 0)
    assert {turn["error"] for turn in served.turns() if turn["question"] == "A stream."} == {"overloaded"}


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Pages of one other site may call it."""
    with gateway(tmp_path_factory.mktemp("open"), API_CORS_ORIGINS=SITE) as served_site:
        yield served_site


def preflight(served: Gateway, origin: str, path: str = CHAT) -> tuple[int, dict[str, str]]:
    fields = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    request = urllib.request.Request(f"{served.address}{path}", method="OPTIONS", headers=fields)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}
    except urllib.error.HTTPError as error:
        with error:
            return error.code, {name.lower(): value for name, value in error.headers.items()}


def test_pages_of_listed_sites_may_call_it_and_no_others(open_site: Gateway, served: Gateway) -> None:
    status, headers = preflight(open_site, SITE)
    assert (status, headers["access-control-allow-origin"]) == (204, SITE)
    assert "authorization" in headers["access-control-allow-headers"]
    response_headers = open_site.post(CHAT, body("From a page."), Origin=SITE)[1]
    assert (response_headers["access-control-allow-origin"], response_headers["access-control-expose-headers"]) == (
        SITE,
        "*",
    )
    refused = open_site.post(CHAT, body("From a page."), Origin=SITE, Authorization="Bearer none")
    assert (refused[0], refused[1]["access-control-allow-origin"]) == (401, SITE)
    for site, origin, path in (
        (open_site, "https://evil.example", CHAT),
        (open_site, SITE, "/login/"),
        (served, SITE, CHAT),
    ):
        assert "access-control-allow-origin" not in preflight(site, origin, path)[1]
        assert "access-control-allow-origin" not in site.post(CHAT, body("Hm."), Origin="https://evil.example")[1]
