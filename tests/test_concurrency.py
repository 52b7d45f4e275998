"""Real processes at the same work at once, one of them killed: nothing lost, nothing done twice."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.openai_server import OpenAIServer
from tests.processes import Site, log_of, postgres, sqlite

pytestmark = pytest.mark.own_servers
Database = Callable[[Path], AbstractContextManager[str]]
CHATS = 24
LEASE = 30


@pytest.fixture(params=[sqlite, postgres], ids=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    made: Database = request.param
    return made


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def site_with(url: str, folder: Path, server: OpenAIServer) -> Site:
    site = Site(
        DATABASE_URL=url,
        DATA_DIR=str(folder),
        LLM_BASE_URL=server.base_url,
        LLM_MODEL="test",
        MEMORYBANK_LEASE_SECONDS=str(LEASE),
    )
    (folder / "log.jsonl").write_text(log_of(CHATS))
    site.run("migrate", "-v0")
    site.run("import_chats", str(folder / "log.jsonl"), "--enable")
    return site


def leaves(site: Site) -> list[tuple[str, str]]:
    """Chat and range of every leaf."""
    script = "from memorybank.models import Entry; print([(e.chat.key, e.first_output) for e in Entry.objects.leaves()])"
    return list(eval(site.run("shell", "-v0", "-c", script)))


def test_four_at_once_and_one_killed_lose_nothing_and_repeat_nothing(database: Database, tmp_path: Path) -> None:
    with database(tmp_path) as url, OpenAIServer(delay=0.3) as server:
        site = site_with(url, tmp_path, server)
        runs = [site.start("manage.py", "run_memory", "--until-idle") for _ in range(4)]
        wait_until(lambda: server.calls >= 4)
        os.kill(runs[0].pid, signal.SIGKILL)
        for run in runs:
            run.communicate(timeout=120)
        assert site.json("check_memory")["ok"]

        within_one_lease = (datetime.now(UTC) + timedelta(seconds=LEASE)).isoformat()
        report = site.json("run_memory", "--until-idle", "--now", within_one_lease)
        assert (report["due"], report["parked"], report["failed"]) == (0, 0, 0)
        assert site.json("check_memory")["ok"]
        found = leaves(site)
        assert sorted(chat for chat, _ in found) == sorted(f"c{number}" for number in range(CHATS))

        calls = server.calls
        again = site.json("run_memory", "--until-idle", "--now", within_one_lease)
        assert again["llm_calls"] == 0 and server.calls == calls


def test_people_write_while_memory_is_made_and_meet_no_lock(database: Database, tmp_path: Path) -> None:
    with database(tmp_path) as url, OpenAIServer(delay=0.1) as server:
        site = site_with(url, tmp_path, server)
        memory = site.start("manage.py", "run_memory", "--until-idle")
        writers = []
        for number in range(4):
            path = tmp_path / f"more{number}.jsonl"
            path.write_text(log_of(8, turns=5).replace('"chat": "c', f'"chat": "w{number}-'))
            writers.append(site.start("manage.py", "import_chats", str(path)))
        for process in [*writers, memory]:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, f"{out}{err}"
        site.run("run_memory", "--until-idle")
        assert site.json("check_memory")["ok"]
        count = "from memorybank.models import Output; print(Output.objects.count())"
        assert int(site.run("shell", "-v0", "-c", count)) == CHATS * 3 + 4 * 8 * 5
