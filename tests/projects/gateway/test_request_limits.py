"""Bounds on requests at a served site: bodies without a key, half-sent ones, and what one key may take."""

import http.client
import json
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from config.middleware.request_limits import MAX_UPLOADS_AT_ONCE
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.gateway_site import Gateway, gateway
from tests.support.requirements import only_in_ci
from tests.support.upstream import wait_until

CHAT = "/v1/chat/completions"
SMALL_BODY = {"model": "small", "messages": [{"role": "user", "content": "Hello there"}]}
#: Addresses that took bodies of any length without a key.
OPEN_ADDRESSES = ["/v1/chat/completions", "/v1/messages", "/mcp", "/api/v1/outputs", "/login/", "/nowhere"]

pytestmark = pytest.mark.own_servers


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A site whose limits are low."""
    env = {"API_MEGABYTES_PER_MINUTE": "5", "API_REQUESTS_AT_ONCE": "2"}
    with gateway(tmp_path_factory.mktemp("limited"), **env) as served_site:
        yield served_site


def begin(site: Gateway, path: str, *headers: str) -> socket.socket:
    """A connection on which a request has begun."""
    address = urlsplit(site.address)
    connection = socket.create_connection((address.hostname, address.port), timeout=120)
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]
    connection.sendall("\r\n".join(lines).encode())
    return connection


def status_of(connection: socket.socket) -> int:
    """The status that comes, though the body was not sent to its end."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status


@pytest.mark.parametrize("path", OPEN_ADDRESSES)
def test_a_long_body_without_a_key_is_refused_before_it_is_read(limited: Gateway, path: str) -> None:
    with closing(begin(limited, path, f"Content-Length: {300 * 2**20}")) as connection:
        assert status_of(connection) == 413
    if path.startswith(("/v1/", "/api/", "/mcp")):
        with closing(begin(limited, path, f"Content-Length: {2**20}", "Authorization: Bearer mb_wrong")) as connection:
            assert status_of(connection) == 401


@pytest.mark.parametrize("path", OPEN_ADDRESSES)
def test_a_body_without_a_length_is_counted_as_it_comes(limited: Gateway, path: str) -> None:
    with closing(begin(limited, path, "Transfer-Encoding: chunked")) as connection:
        chunk = b"%x\r\n%s\r\n" % (2**16, b"a" * 2**16)
        try:
            for _ in range(1_000):
                connection.sendall(chunk)
        except OSError:
            return  # the connection was ended in the middle
        assert status_of(connection) in (401, 413)


def test_a_half_sent_request_is_given_up(limited: Gateway) -> None:
    with closing(begin(limited, "/login/", "Content-Length: 100")) as connection:
        assert status_of(connection) == 408


def test_pages_read_a_bounded_number_of_long_bodies_at_once(limited: Gateway) -> None:
    connections = [begin(limited, "/login/", f"Content-Length: {2**20}") for _ in range(40)]
    try:
        assert status_of(connections[-1]) == 503
    finally:
        for connection in connections:
            connection.close()


def test_only_the_page_that_takes_a_file_reads_a_long_body_and_few_at_once(limited: Gateway) -> None:
    page, long = "/p/acme/apollo/settings/import", f"Content-Length: {20 * 2**20}"
    with closing(begin(limited, page, f"Content-Length: {300 * 2**20}")) as connection:
        assert status_of(connection) == 413
    with closing(begin(limited, f"{page}s", long)) as connection:
        assert status_of(connection) == 413
    connections = [begin(limited, page, long) for _ in range(MAX_UPLOADS_AT_ONCE + 1)]
    try:
        ready, _, _ = select.select(connections, [], [], PROCESS_TIMEOUT_SECONDS)
        assert [status_of(connection) for connection in ready] == [503]
    finally:
        for connection in connections:
            connection.close()


def test_a_key_has_a_share_of_bytes_and_of_requests_at_once(limited: Gateway) -> None:
    zeus = {"Authorization": f"Bearer {limited.key('globex/zeus')}"}
    long = {**SMALL_BODY, "messages": [{"role": "user", "content": "a " * 1_000_000}]}
    assert [limited.post(CHAT, long, **zeus)[0] for _ in range(3)] == [200, 200, 429]
    assert limited.post(CHAT, SMALL_BODY)[0] == 200  # another key
    limited.upstream.delay = 3.0
    try:
        with ThreadPoolExecutor(6) as threads:
            statuses = list(threads.map(lambda _: limited.post(CHAT, {**SMALL_BODY, "stream": True})[0], range(6)))
    finally:
        limited.upstream.delay = 0.0
    assert statuses.count(200) in (1, 2)  # the request before it may still be ending
    assert statuses.count(200) + statuses.count(429) == 6
    wait_until(lambda: limited.post(CHAT, SMALL_BODY)[0] == 200, "free again")


def test_very_many_messages_are_refused(limited: Gateway) -> None:
    hermes = {"Authorization": f"Bearer {limited.key('acme/hermes')}"}
    messages = [{"role": "user", "content": "a"}] * 10_001
    status, _, raw = limited.post(CHAT, {**SMALL_BODY, "messages": messages}, **hermes)
    assert (status, "at most 10,000" in json.loads(raw)["error"]["message"]) == (413, True)
    parts = [{"role": "user", "content": [{"type": "text", "text": "a"}] * 10_001}]
    assert limited.post("/v1/messages", {**SMALL_BODY, "max_tokens": 9, "messages": parts}, **hermes)[0] == 413


def processor_ticks(site: Gateway) -> int:
    """Processor time of the server's processes so far, in clock ticks (10 ms)."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # a process that has just ended
            fields = path.read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[2]) == site.server.pid else 0
    return ticks


@only_in_ci
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_a_message_costs_as_much_time_as_it_is_long(tmp_path: Path) -> None:
    with gateway(tmp_path) as site:
        site.post(CHAT, {**SMALL_BODY, "messages": [{"role": "user", "content": "We decided on PostgreSQL 16."}]})
        site.summarise()
        ticks = []
        for words in (50_000, 50_000, 500_000):  # the first one also loads what the others need
            before = processor_ticks(site)
            long = {**SMALL_BODY, "messages": [{"role": "user", "content": "PostgreSQL decided ledger word " * words}]}
            assert site.post(CHAT, long)[0] == 200
            ticks.append(processor_ticks(site) - before)
        _, short, ten_times_as_long = ticks
        assert 0 < ten_times_as_long <= 20 * max(short, 5)
