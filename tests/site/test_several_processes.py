"""Four web processes behind nginx (deploy/nginx.conf), on PostgreSQL and Redis: people notice only one site."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.projects.chat.test_lost_answers import PEOPLE, free_port
from tests.projects.chat.test_sse import StreamReader, grown, heard_until
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.dictated_model import ALL, Dictated
from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import needs_nginx, needs_postgres, needs_redis, only_in_ci
from tests.system.test_brokers import own_redis

from .test_proxy import AROUND, listens

pytestmark = [only_in_ci, pytest.mark.own_servers]

PROCESSES, LIMIT = 4, 45
#: What the shipped file has for HTTPS, which these tests do without.
HTTPS_LINES = re.compile(r"^\s+ssl_certificate.*\n", re.M)


@dataclass
class Cluster:
    """Web processes by port, and the address of nginx before them."""

    site: Site
    address: str
    processes: dict[int, subprocess.Popen[bytes]]

    def start(self, port: int) -> None:
        """Start a web process and wait until it answers."""
        self.processes[port] = self.site.start("-m", "uvicorn", "config.asgi:application", "--port", port)
        wait_until(StreamReader(direct(port)).is_up, "up", self.site)


def direct(port: int) -> str:
    return f"http://127.0.0.1:{port}"


@contextmanager
def nginx(folder: Path, port: int, ports: list[int], own_site: Site) -> Iterator[None]:
    """nginx before these ports, without HTTPS."""
    program = needs_nginx()
    shipped = HTTPS_LINES.sub("", (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8"))
    servers = " ".join(f"server 127.0.0.1:{each};" for each in ports)
    for there, here in {"443 ssl": f"127.0.0.1:{port}", "server 127.0.0.1:8000;": servers}.items():
        assert there in shipped
        shipped = shipped.replace(there, here)
    (folder / "memorybank.conf").write_text(shipped, encoding="utf-8")
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder), encoding="utf-8")
    command = [program, "-p", str(folder), "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        wait_until(lambda: listens(port), "before the site", own_site)
        yield
    finally:
        kill(process)


class Held(Dictated):
    """Sends nothing of any answer while ``holds`` is set, also not of an earlier one."""

    def __init__(self) -> None:
        self.holds = False
        super().__init__()

    def before_piece(self) -> None:
        while self.holds and not self.stopping.wait(0.1):
            pass
        super().before_piece()


@pytest.fixture(scope="module")
def dictated() -> Iterator[Held]:
    with Held() as made:
        yield made


@pytest.fixture
def model(dictated: Held) -> Held:
    dictated.begin()
    return dictated


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, dictated: Held) -> Iterator[Cluster]:
    postgres, folder = needs_postgres(), tmp_path_factory.mktemp("nginx")
    port, *ports = (free_port() for _ in range(PROCESSES + 1))
    settings = {"LLM_MAX_RETRIES": "0", "SECRET_KEY": "x" * 50, "LLM_BASE_URL": dictated.base_url}
    settings |= {"API_REQUESTS_PER_MINUTE": str(LIMIT), "DATABASE_POOL": "20"}
    with (
        own_redis(needs_redis()) as (broker, queue),
        site(
            tmp_path_factory.mktemp("site"),
            postgres=postgres,
            CELERY_BROKER_URL=broker,
            CELERY_QUEUE=queue,
            **settings,
        ) as own_site,
        nginx(folder, port, ports, own_site),
    ):
        assert own_site.call("shell", "--verbosity", "0", "-c", PEOPLE).code == 0
        made = Cluster(own_site, direct(port), {})
        for each in ports:
            made.start(each)
        yield made


@pytest.fixture
def bob(cluster: Cluster) -> StreamReader:
    """Bob, signed in through nginx; his cookies are good for each process."""
    reader = StreamReader(cluster.address)
    reader.log_in()
    return reader


def test_a_stream_resumes_on_another_process(cluster: Cluster, bob: StreamReader, model: Held) -> None:
    first, second, *_ = cluster.processes
    bob.begin()
    bob.base = direct(first)
    path = bob.ask()
    model.say(4)
    bob.base = direct(second)
    with bob.hear(path) as events:
        shown, number = heard_until(events, "First", [])
    bob.base = cluster.address
    with bob.hear(path, number) as events:
        model.say(1)
        name, further, data = next(events)
        shown = grown(shown, data)
        assert (name, int(further) > int(number)) == ("text", True)  # nothing comes twice
        model.say(ALL)
        *_, (name, _, data) = events
    assert shown[:2] == ["Plan", "First second"]
    assert (name, "fifth" in data["turn"]) == ("end", True)


def test_of_a_killed_process_messages_remain_and_of_the_others_answers(
    cluster: Cluster, bob: StreamReader, model: Held
) -> None:
    first, second, third, _ = cluster.processes
    chats, paths, model.holds = [], [], True
    for port in (first, second):
        model.asked.clear()
        bob.base = direct(port)
        bob.begin()
        chats.append(bob.chat)
        paths.append(bob.ask())
        assert model.asked.wait(PROCESS_TIMEOUT_SECONDS)
    bob.base = direct(third)  # who hears an answer from the killed process reconnects: the test above
    with bob.hear(paths[1]) as events:
        kill(cluster.processes[first])
        model.holds = False
        model.say(ALL)
        *_, (name, _, data) = events
    assert (name, "fifth" in data["turn"]) == ("end", True)

    bob.base = cluster.address
    with bob.hear(paths[0]) as events:  # from another process, which hears no more of it
        *_, (name, _, data) = events
    retry = re.search(r'action="([^"]+/turns/\w+/retry)"', data["turn"])
    assert name == "end" and "What comes first?" in data["turn"] and retry
    page = bob.post(retry[1], bob.get(chats[0]))
    assert "fifth" in page.split('id="composer"')[0]
    cluster.start(first)


def test_processes_grant_exactly_the_limit_of_a_key(cluster: Cluster) -> None:
    made = cluster.site.call("create_api_key", "acme/apollo", "--name", "limit", "--scopes", "read", "--json")
    key = json.loads(made.out)["key"]
    statuses: list[int] = []
    before = after = datetime.min.replace(tzinfo=UTC)
    while before.minute != after.minute or not statuses:  # a busy machine may need a whole minute
        sleep(60 - now.second if (now := datetime.now(UTC)).second > 20 else 0)
        before = datetime.now(UTC)
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda _: status(cluster.address, key), range(LIMIT + 4 * PROCESSES)))
        after = datetime.now(UTC)
    assert (statuses.count(200), set(statuses)) == (LIMIT, {200, 429})


def status(address: str, key: str) -> Any:
    request = Request(f"{address}/api/v1/facts", headers={"Authorization": f"Bearer {key}"})
    try:
        with urlopen(request, timeout=PROCESS_TIMEOUT_SECONDS) as answer:
            return answer.status
    except HTTPError as error:
        with error:
            return error.code
