"""The site served by uvicorn with a fake upstream, for tests of the gateway over HTTP."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .commands import PROCESS_TIMEOUT_SECONDS
from .database_proxy import DatabaseProxy
from .own_site import Site, site
from .ports import free_port
from .upstream import LocalUpstream, wait_until

Client = TypeVar("Client")

PROJECTS = ("acme/apollo", "acme/hermes", "globex/zeus")
SET_UP = f"""
from django.utils import timezone
from memorybank import services
from projects.tenancy import api_keys as keys
from projects.models import Project, Tenant
for path in {PROJECTS}:
    tenant, slug = path.split("/")
    tenant, _ = Tenant.objects.get_or_create(slug=tenant, defaults={{"name": tenant}})
    project = Project.objects.open(tenant, slug, slug)
    services.enable(project.bank, actor="setup", disclosure_accepted=True)
    print(path, keys.issue(project, "desk", ["read", "write"], actor="setup", now=timezone.now())[1])
"""
#: Settings without background work, because tests summarise turns themselves, and with long limits for busy machines.
AT_ONCE = {
    "MEMORYBANK_BLOCK_KEEP_MINUTES": "1000",
    "API_REQUESTS_PER_MINUTE": "0",
    "GATEWAY_MEMORY_MILLISECONDS": "60000",
}


@dataclass
class Gateway:
    """A running gateway: its address, its upstream, and an API key of each project."""

    address: str
    upstream: LocalUpstream
    site: Site
    keys: dict[str, str]
    server: subprocess.Popen[bytes]
    clients: list[Any] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        """The base URL for OpenAI clients; Anthropic clients use ``address``."""
        return f"{self.address}/v1"

    def use(self, client: Client) -> Client:
        """Close the client at the end of the test: the garbage collector might collect its socket first."""
        self.clients.append(client)
        return client

    def key(self, project: str = "acme/apollo") -> str:
        """The key of a project."""
        return self.keys[project]

    def summarise(self, project: str = "acme/apollo") -> None:
        """Summarise all chats of a project, also chats that are not idle."""
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        done = self.site.call("run_memory", "--project", project, "--until-idle", "--now", later)
        assert done.code == 0, done.err

    def turns(self, project: str = "acme/apollo") -> list[dict[str, Any]]:
        """The recorded turns, in order."""
        rows = self.site.ask(
            "SELECT o.question, o.answer, o.status, o.author, o.messages, c.key, o.error FROM memorybank_output o"
            " JOIN memorybank_chat c ON c.id = o.chat_id JOIN projects_project p ON p.bank_id = c.bank_id"
            f" JOIN projects_tenant t ON t.id = p.tenant_id WHERE t.slug || '/' || p.slug = '{project}' ORDER BY o.id"
        )
        names = ("question", "answer", "status", "author", "messages", "chat", "error")
        turns = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**item, "messages": _json(item["messages"])} for item in turns]

    def calls(self) -> list[dict[str, Any]]:
        """The calls in the ledger, in order."""
        names = ("purpose", "model", "prompt_tokens", "completion_tokens", "outcome", "error")
        rows = self.site.ask(f"SELECT {', '.join(names)} FROM memorybank_llmcall ORDER BY id")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def post(self, path: str, body: Any, *, method: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a request (POST by default) to a path or a whole address; return the status, headers and body."""
        fields = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key()}", **headers}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        address = path if path.startswith("http") else f"{self.address}{path}"
        request = urllib.request.Request(address, data, fields, method=method or None)
        try:
            with urllib.request.urlopen(request, timeout=PROCESS_TIMEOUT_SECONDS) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()

    def start_over(self) -> None:
        """Empty the database of the running server, and create the projects and their keys again."""
        self.site.empty()
        self.keys = _projects(self.site)

    def restart(self) -> None:
        """Start another server at the same address."""
        self.server = _start(self.site, urlsplit(self.address).port or 0)
        wait_until(lambda: _answers(self.address), "there")

    def second(self) -> str:
        """Start another server process on the same database; return its address."""
        port = free_port()
        _start(self.site, port)
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(address), f"there: {self.site.output()}")
        return address

    def stop(self) -> None:
        """Send SIGTERM to the server, as systemd does."""
        os.killpg(self.server.pid, signal.SIGTERM)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


@contextmanager
def gateway(data: Path, *, postgres: str = "", through: DatabaseProxy | None = None, **env: str) -> Iterator[Gateway]:
    """Serve a site with a fake upstream and three projects, each with memory switched on and an API key.

    With ``through``, the server connects to the database through this proxy; this process connects directly.
    """
    port = free_port()
    with LocalUpstream() as upstream:
        addresses = {"GATEWAY_OPENAI_BASE_URL": upstream.base_url, "GATEWAY_ANTHROPIC_BASE_URL": upstream.anthropic_url}
        keys = {"GATEWAY_OPENAI_API_KEY": "sk-upstream", "GATEWAY_ANTHROPIC_API_KEY": "sk-ant-upstream"}
        with site(data, postgres=postgres, **{"DEBUG": "true", **AT_ONCE, **addresses, **keys, **env}) as made:
            given = _projects(made)
            reached = {"DATABASE_URL": through.to(made.database_url)} if through else {}
            server = _start(made, port, **reached)
            served_site = Gateway(f"http://127.0.0.1:{port}", upstream, made, given, server)
            wait_until(lambda: _answers(served_site.address), f"there: {made.output()}")
            yield served_site


def _start(made: Site, port: int, **env: str) -> subprocess.Popen[bytes]:
    command = ("-m", "uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning")
    return made.start(*command, **env)


def _projects(made: Site) -> dict[str, str]:
    """Create the projects in one process, because starting a process takes seconds."""
    result = made.call("shell", "--verbosity", "0", "-c", SET_UP)
    assert result.code == 0, result.err
    return dict(line.split() for line in result.out.splitlines())


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:  # the server answers, but rejects this host name
        return True
    except OSError:
        return False
