"""Every address under /v1 works, is passed on without memory, or is refused in the protocol's format; never a page."""

import json

import pytest

from tests.support.gateway_site import Gateway

REQUEST_BODY = {"model": "small", "input": "Hello there", "prompt": "Hello there"}
OPTIONAL = ("completions", "moderations", "images/generations", "audio/speech")
UNKNOWN = ("files", "batches", "responses/resp_1/x", "chat/completions/x", "", "../admin/", "moderations/")
SWITCH_ON = """
from projects.models import Project, Upstream
project = Project.objects.get(tenant__slug="acme", slug="hermes")
paths = "moderations\\nfiles\\n../admin"
Upstream.objects.create(project=project, protocol="openai", base_url="{url}", passed_paths=paths)
"""


@pytest.mark.parametrize("path", UNKNOWN)
def test_an_unknown_address_is_refused_in_the_protocols_format(served: Gateway, path: str) -> None:
    status, headers, raw = served.post(f"/v1/{path}", REQUEST_BODY)
    assert (status, headers["content-type"]) == (404, "application/json")
    assert json.loads(raw)["error"]["message"] == "This gateway has no such address."
    _, _, raw = served.post(f"/v1/{path}", REQUEST_BODY, **{"anthropic-version": "2023-06-01"})
    assert json.loads(raw)["type"] == "error"
    assert not served.upstream.seen


@pytest.mark.parametrize("path", ["chat/completions", "messages", "files"])
def test_a_host_name_that_is_not_ours_is_refused_in_the_protocols_format(served: Gateway, path: str) -> None:
    status, headers, raw = served.post(f"/v1/{path}", REQUEST_BODY, Host="elsewhere.example")
    assert (status, headers["content-type"]) == (400, "application/json")
    assert "host name" in json.loads(raw)["error"]["message"]
    assert (json.loads(raw).get("type") == "error") == (path == "messages")
    assert not served.upstream.seen


@pytest.mark.parametrize("path", OPTIONAL)
def test_an_optional_address_is_off_until_somebody_switches_it_on(served: Gateway, path: str) -> None:
    status, headers, raw = served.post(f"/v1/{path}", REQUEST_BODY)
    assert (status, headers["content-type"]) == (404, "application/json")
    assert "does not pass on" in json.loads(raw)["error"]["message"]
    assert served.post(f"/v1/{path}", REQUEST_BODY, Authorization="Bearer mb_wrong")[0] == 401
    assert not served.upstream.seen


def test_one_that_is_on_is_passed_on_without_memory_and_not_recorded(served: Gateway) -> None:
    done = served.site.call("shell", "--verbosity", "0", "-c", SWITCH_ON.format(url=served.upstream.base_url))
    assert done.code == 0, done.err
    key = {"Authorization": f"Bearer {served.key('acme/hermes')}"}
    served.post("/v1/moderations", REQUEST_BODY, **key)
    [seen] = served.upstream.seen
    assert (seen.path, seen.body) == ("/v1/moderations", REQUEST_BODY)
    assert served.turns("acme/hermes") == []
    for path in ("completions", "files", "../admin", "moderations/x"):
        assert served.post(f"/v1/{path}", REQUEST_BODY, **key)[0] == 404
    assert len(served.upstream.seen) == 1
    part = {"type": "input_file", "file_id": "file-1"}
    body = {"model": "small", "store": False, "input": [{"role": "user", "content": [part]}]}
    assert served.post("/v1/responses", body, **key)[0] == 200, "files at an upstream of one's own are one's own"
    assert served.post("/v1/responses", body)[0] == 400
