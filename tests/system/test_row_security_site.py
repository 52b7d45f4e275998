"""A site whose role owns nothing, with row-level security: web server, commands and worker, also behind a pool."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.site.test_proxy import listens
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.gateway_site import Gateway, free_port, gateway
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, kill, wait_until
from tests.support.requirements import needs_pgbouncer, needs_postgres, needs_redis, only_in_ci

from .test_brokers import own_redis
from .test_row_security import FERRY, VAULT

pytestmark = [only_in_ci, pytest.mark.long, pytest.mark.own_servers]


@contextmanager
def own_site(data: Path, through: str, **env: str) -> Iterator[Gateway]:
    """Migrated by the owner of the tables, then served as a role that owns nothing, directly or through PgBouncer."""
    role = f"memorybank_app_{uuid4().hex[:8]}"
    pooler = pooled if through == "PgBouncer" else nullcontext
    with (
        gateway(data, postgres=needs_postgres(), **env) as served_site,
        closing_role(served_site.site, role) as own_address,
        pooler(own_address) as address,
    ):
        assert served_site.site.manage("migrate", "--verbosity", "0", ROW_SECURITY_ROLE=role).code == 0
        kill(served_site.server)
        served_site.site.env["ROW_SECURITY_ROLE"], served_site.site.database_url = role, address
        served_site.restart()
        yield served_site


def ask(served_site: Gateway, project: str, question: str) -> dict[str, str]:
    """The headers of the gateway's answer."""
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    bearer = f"Bearer {served_site.key(project)}"
    status, headers, answer = served_site.post("/v1/chat/completions", body, Authorization=bearer)
    assert status == 200, answer
    return headers


@pytest.mark.parametrize("through", ["directly", "PgBouncer"])
def test_a_served_site_whose_role_owns_nothing(through: str, tmp_path: Path) -> None:
    """The gateway remembers, commands work, and SQL alone finds nothing."""
    with own_site(tmp_path, through) as served_site:
        ask(served_site, "acme/apollo", VAULT)
        ask(served_site, "globex/zeus", FERRY)
        later = (timezone.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert served_site.site.manage("run_memory", "--until-idle", "--now", later).code == 0
        assert int(ask(served_site, "acme/apollo", "Hello?")["x-memory-block-tokens"]) > 0
        shown = served_site.site.manage("show_memory", "acme/apollo").out
        assert "Lisbon" in shown
        assert "Ostend" not in shown
        checked = served_site.site.manage("check", "--database", "default")
        assert "memorybank.W" not in checked.err, checked.err
        assert served_site.site.manage("check_memory").code == 0
        # What was entered ended with its transaction: this connection has none.
        for table in ("memorybank_output", "memorybank_chat", "projects_tenantevent"):
            assert served_site.site.ask(f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_worker_of_processes_behind_a_pool(tmp_path: Path) -> None:
    """Beat and Celery's worker, on Redis, find the due chats of both tenants and ask a model about each alone."""
    with ExitStack() as stack:
        broker, queue = stack.enter_context(own_redis(needs_redis()))
        model = stack.enter_context(OpenAIServer(keep=100))
        summaries = {"SUMMARY_LLM_BASE_URL": model.base_url, "SUMMARY_LLM_MODEL": "test"}
        quick = {"SWEEP_SECONDS": "1", "MEMORYBANK_DUE_AFTER_TURNS": "1"}
        environment = {"CELERY_BROKER_URL": broker, "CELERY_QUEUE": queue, **summaries, **quick}
        served_site = stack.enter_context(own_site(tmp_path, "PgBouncer", **environment))
        ask(served_site, "acme/apollo", VAULT)
        ask(served_site, "globex/zeus", FERRY)
        options = ("-B", "--concurrency", 2, "--loglevel", "WARNING", "--hostname", f"{uuid4().hex}@%h")
        served_site.site.start("-m", "celery", "-A", "config", "worker", *options, "-s", tmp_path / "schedule")
        for project, own, other in (("acme/apollo", "Lisbon", "Ostend"), ("globex/zeus", "Ostend", "Lisbon")):
            wait_until(lambda: own in block(served_site, project), f"in memory: {own}", served_site.site)  # noqa: B023
            assert other not in block(served_site, project)
        prompts = [str(body["messages"]) for body in model.requests]
        assert prompts
        assert [text for text in prompts if "Lisbon" in text and "Ostend" in text] == []
        assert served_site.site.ask("SELECT count(*) FROM memorybank_fact") == [(0,)]


def block(served_site: Gateway, project: str) -> str:
    """What memory tells a program about a project."""
    bearer = f"Bearer {served_site.key(project)}"
    status, _, content = served_site.post("/api/v1/block", None, method="GET", Authorization=bearer)
    assert status == 200, content
    return content.decode()


POOLER = """
[databases]
{name} = host={server.hostname} port={port} dbname={name} user={server.username} password={server.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
"""


@contextmanager
def pooled(address: str) -> Iterator[str]:
    """The address of the database behind PgBouncer, whose two connections all transactions share."""
    program, server, own_port = needs_pgbouncer(), urlsplit(address), free_port()
    name = server.path.removeprefix("/")
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(POOLER.format(name=name, server=server, port=server.port or 5432, own_port=own_port))
        file.flush()
        Path(file.name).chmod(0o644)
        unprivileged = ["-u", "nobody"] if os.getuid() == 0 else []  # it refuses to run as root
        process = subprocess.Popen([program, "-q", *unprivileged, file.name], start_new_session=True)
        try:
            pool = urlunsplit(server._replace(netloc=f"{server.username}@127.0.0.1:{own_port}"))
            until = time.monotonic() + PROCESS_TIMEOUT_SECONDS
            while process.poll() is None and not listens(own_port) and time.monotonic() < until:
                time.sleep(0.1)
            yield pool
        finally:
            kill(process)


@contextmanager
def closing_role(made: Site, role: str) -> Iterator[str]:
    """A role that owns nothing, and the address of the site's database for it."""
    owner = made.database_url
    made.tell(f"CREATE ROLE {role} LOGIN PASSWORD 'tests'")
    try:
        parts = urlsplit(owner)
        yield urlunsplit(parts._replace(netloc=f"{role}:tests@{parts.hostname}:{parts.port or 5432}"))
    finally:
        made.stop()
        made.database_url = owner
        made.tell(f"DROP OWNED BY {role}")
        made.tell(f"DROP ROLE {role}")
