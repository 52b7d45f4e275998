"""The site under uvicorn with our own upstream, for tests of the gateway over HTTP."""

import json
import os
import signal
import socket
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

from .commands import PATIENCE
from .database_proxy import DatabaseProxy
from .own_site import Site, site
from .upstream import Upstream, wait_until

Client = TypeVar("Client")

PROJECTS = ("acme/apollo", "acme/hermes", "globex/zeus")
SET_UP = f"""
from django.utils import timezone
from memorybank import services
from projects.tenancy import api_keys as keys
from projects.models import Project, Tenant
for path in {PROJECTS}:
    tenant, slug = path.split("/")
    tenant, _ = Tenant.objects.get_or_create(slug=tenant, name=tenant)
    project = Project.objects.open(tenant, slug, slug)
    services.enable(project.bank, actor="setup", disclosure_accepted=True)
    print(path, keys.issue(project, "desk", ["read", "write"], actor="setup", now=timezone.now())[1])
"""
#: No background work: tests summarise turns themselves. And long time limits, for busy machines.
AT_ONCE = {
    "MEMORYBANK_BLOCK_KEEP_MINUTES": "1000",
    "API_REQUESTS_PER_MINUTE": "0",
    "GATEWAY_MEMORY_MILLISECONDS": "60000",
}


@dataclass
class Gateway:
    """The address of a served gateway, its upstream, and a key of each project."""

    address: str
    upstream: Upstream
    site: Site
    keys: dict[str, str]
    server: subprocess.Popen[bytes]
    clients: list[Any] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        """The base URL for clients of OpenAI's protocol; those of Anthropic's take ``address``."""
        return f"{self.address}/v1"

    def use(self, client: Client) -> Client:
        """Have the client closed with its test: if it were garbage-collected, its socket might be collected first."""
        self.clients.append(client)
        return client

    def key(self, project: str = "acme/apollo") -> str:
        """The key of a project."""
        return self.keys[project]

    def summarise(self, project: str = "acme/apollo") -> None:
        """Summarise the chats of a project, idle or not."""
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
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [{**item, "messages": _json(item["messages"])} for item in found]

    def calls(self) -> list[dict[str, Any]]:
        """The calls in the ledger, in order."""
        names = ("purpose", "model", "prompt_tokens", "completion_tokens", "outcome", "error")
        rows = self.site.ask(f"SELECT {', '.join(names)} FROM memorybank_llmcall ORDER BY id")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def post(self, path: str, body: Any, *, method: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a POST request with the standard library's client."""
        fields = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key()}", **headers}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, fields, method=method or None)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, {name.lower(): value for name, value in error.headers.items()}, error.read()

    def restart(self) -> None:
        """Start another server at the same address."""
        self.server = _start(self.site, urlsplit(self.address).port or 0)
        wait_until(lambda: _answers(self.address), "there")

    def stop(self) -> None:
        """Terminate the server, as systemd does."""
        os.killpg(self.server.pid, signal.SIGTERM)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def free_port() -> int:
    """A port on which nothing listens now."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


@contextmanager
def gateway(data: Path, *, postgres: str = "", through: DatabaseProxy | None = None, **env: str) -> Iterator[Gateway]:
    """A site of three projects with memory switched on, each with a key, and our own upstream.

    Only the server connects to the database ``through`` the proxy.
    """
    port = free_port()
    with Upstream() as upstream:
        addresses = {"GATEWAY_OPENAI_BASE_URL": upstream.base_url, "GATEWAY_ANTHROPIC_BASE_URL": upstream.anthropic_url}
        keys = {"GATEWAY_OPENAI_API_KEY": "sk-upstream", "GATEWAY_ANTHROPIC_API_KEY": "sk-ant-upstream"}
        with site(data, postgres=postgres, **{"DEBUG": "true", **AT_ONCE, **addresses, **keys, **env}) as made:
            given = _projects(made)
            reached = {"DATABASE_URL": through.to(made.database_url)} if through else {}
            server = _start(made, port, **reached)
            found = Gateway(f"http://127.0.0.1:{port}", upstream, made, given, server)
            wait_until(lambda: _answers(found.address), f"there: {made.output()}")
            yield found


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
    except urllib.error.HTTPError:  # it does, though not to this name
        return True
    except OSError:
        return False
