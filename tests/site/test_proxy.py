"""nginx as deploy/nginx.conf has it, before a served site: HTTPS, addresses, and answers that come as they are made."""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import PROJECTS, Gateway, free_port, gateway
from tests.support.own_site import kill, wait_until
from tests.support.requirements import needs_nginx, only_in_ci

pytestmark = [only_in_ci, pytest.mark.own_servers]

HOST_NAME = "memory.example.com"
PRODUCTION = {
    "SECRET_KEY": "of-this-test",
    "DEBUG": "false",
    "HTTPS": "true",
    "ALLOWED_HOSTS": HOST_NAME,
    "CSRF_TRUSTED_ORIGINS": f"https://{HOST_NAME}",
}
#: All that the shipped file expects around it, and where somebody who is not root may write.
AROUND = """
daemon off;
pid {folder}/pid;
error_log {folder}/log warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/memorybank.conf;
}}
"""


def certificate(folder: Path) -> None:
    """One that nobody vouches for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name.from_rfc4514_string(f"CN={HOST_NAME}")
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    pem, bare = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "fullchain.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    (folder / "privkey.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, bare))


@contextmanager
def proxied(programs: Gateway, folder: Path) -> Iterator[int]:
    """nginx before the site; the port at which it speaks HTTPS."""
    nginx, port = needs_nginx(), free_port()
    folder.mkdir()
    certificate(folder)
    shipped = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    here = {"443 ssl": f"127.0.0.1:{port} ssl", "127.0.0.1:8000": programs.address.removeprefix("http://")}
    for there, here_ in {**here, f"/etc/ssl/{HOST_NAME}": str(folder)}.items():
        assert there in shipped
        shipped = shipped.replace(there, here_)
    (folder / "memorybank.conf").write_text(shipped, encoding="utf-8")
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder), encoding="utf-8")
    command = [nginx, "-p", str(folder), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run(
        [*command, "-t"], capture_output=True, text=True, timeout=PROCESS_TIMEOUT_SECONDS, check=False
    )
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, start_new_session=True)
    try:
        wait_until(lambda: listens(port), "before the site", programs.site)
        yield port
    finally:
        kill(process)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PROCESS_TIMEOUT_SECONDS).close()
    except ConnectionError:
        return False
    return True


@contextmanager
def requested(port: int, method: str, path: str, body: str | None = None, **headers: str) -> Iterator[HTTPResponse]:
    """One request by HTTPS, for the name of the site; what answers it, not yet read."""
    unverified = ssl._create_unverified_context()
    with closing(HTTPSConnection("127.0.0.1", port, timeout=PROCESS_TIMEOUT_SECONDS, context=unverified)) as connection:
        connection.request(method, path, body, {"Host": HOST_NAME, **headers})
        with connection.getresponse() as answer:
            yield answer


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    needs_nginx()
    with gateway(tmp_path_factory.mktemp("site"), **PRODUCTION) as served_site:
        yield served_site


def test_it_passes_on_what_it_should_and_knows_of_https(programs: Gateway, tmp_path: Path) -> None:
    with proxied(programs, tmp_path / "nginx") as port:
        for path, status in (("/healthz", 200), ("/metrics", 404)):
            with requested(port, "GET", path) as answer:
                assert answer.status == status
        with requested(port, "GET", "/login/") as page:  # and is sent to no other address
            assert (page.status, "Secure" in page.headers["Set-Cookie"]) == (200, True)
        text = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
        with requested(port, "POST", "/mcp", text, **program(programs)) as answer:
            assert (answer.status, b"project_memory" in answer.read()) == (200, True)


def test_an_answer_comes_as_it_is_made_and_who_goes_away_ends_it(programs: Gateway, tmp_path: Path) -> None:
    upstream = programs.upstream
    upstream.pace = PROCESS_TIMEOUT_SECONDS  # the second piece never comes, so whoever waits for it waits for ever
    body = json.dumps({"model": "small", "stream": True, "messages": [{"role": "user", "content": "Slowly, please."}]})
    with proxied(programs, tmp_path / "nginx") as port:
        with requested(port, "POST", "/v1/chat/completions", body, **program(programs)) as answer:
            assert (answer.status, answer.headers["X-Accel-Buffering"]) == (200, None)  # it is for nginx alone
            assert answer.readline().startswith(b"data: {")
            assert upstream.gone == 0
        wait_until(lambda: upstream.gone == 1, "told that the client has gone", programs.site)


def program(programs: Gateway) -> dict[str, str]:
    """What a program says of itself."""
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return {"Authorization": f"Bearer {programs.key(PROJECTS[0])}", **kinds}
