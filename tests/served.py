"""A served site for programs: three projects with memory, a key to each, and what it takes to let time pass."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from .commands import PATIENCE
from .own_site import Site, site, wait_until

#: Where the chats are, another project of the same tenant, another tenant's.
OURS, BESIDE, ELSEWHERE = "acme/apollo", "acme/gemini", "globex/zeus"
PROJECTS = f"""
from memorybank import services
from projects import keys
from projects.models import Project, Tenant
from django.utils import timezone
for path in {[OURS, BESIDE, ELSEWHERE]}:
    tenant, slug = path.split("/")
    tenant, _ = Tenant.objects.get_or_create(slug=tenant, name=tenant)
    project = Project.objects.open(tenant, slug, slug)
    services.enable(project.bank, actor="setup", disclosure_accepted=True)
    print(path, keys.issue(project, "client", ["read", "write"], actor="setup", now=timezone.now())[1])
"""


@dataclass(frozen=True)
class Served:
    """A site at ``base``, with a key to each project by its path."""

    site: Site
    base: str
    keys: dict[str, str]

    def summarise(self) -> None:
        """What the workers do once the chats are idle, here and now."""
        later = datetime.now(UTC) + timedelta(hours=1)
        ran = self.site.manage("run_memory", "--until-idle", "--now", later.isoformat())
        assert ran.code == 0, ran.err


@contextmanager
def served(data: Path, **env: str) -> Iterator[Served]:
    """Serve a new site until the end of the block, by uvicorn, as in production."""
    base = f"http://127.0.0.1:{free_port()}"
    ours = {"SECRET_KEY": "of-this-test", "DEBUG": "true", "API_REQUESTS_PER_MINUTE": "0"}
    with site(data, **{**ours, **env}) as made:
        told = made.manage("shell", "--verbosity", "0", "-c", PROJECTS)
        assert told.code == 0, told.err
        port = base.rpartition(":")[2]
        made.start("-m", "uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning")
        wait_until(lambda: _answers(base), "up", made)
        yield Served(made, base, dict(line.split() for line in told.out.splitlines()))


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(base: str) -> bool:
    try:
        with urlopen(f"{base}/healthz", timeout=PATIENCE):
            return True
    except HTTPError:  # it answers, though not to this name
        return True
    except (URLError, ConnectionError):
        return False
