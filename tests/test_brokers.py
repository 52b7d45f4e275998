"""A real worker with beat on each broker: what is recorded becomes memory, and kill -9 loses nothing."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes import Site, log_of, postgres, sqlite
from tests.requirements import RABBITMQ, REDIS, need_rabbitmq, need_redis

pytestmark = pytest.mark.own_servers
CHATS = 6


def filesystem_with_sqlite(folder: Path, stack: ExitStack) -> tuple[str, str]:
    return "filesystem://", stack.enter_context(sqlite(folder))


def redis_with_postgres(folder: Path, stack: ExitStack) -> tuple[str, str]:
    need_redis()
    return REDIS, stack.enter_context(postgres(folder))


def rabbitmq_with_postgres(folder: Path, stack: ExitStack) -> tuple[str, str]:
    need_rabbitmq()
    return RABBITMQ, stack.enter_context(postgres(folder))


@contextmanager
def worker(site: Site) -> Iterator[subprocess.Popen[str]]:
    command = ("-m", "celery", "-A", "config", "worker", "-B", "--pool", "threads", "--concurrency", "2", "-l", "ERROR")
    process = site.start(*command)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def summarised(site: Site) -> int:
    script = "from memorybank.models import Entry; print(Entry.objects.leaves().count())"
    return int(site.run("shell", "-v0", "-c", script))


def wait_for(true: Callable[[], bool], seconds: float = 45) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.5)


@pytest.mark.parametrize("kind", [filesystem_with_sqlite, redis_with_postgres, rabbitmq_with_postgres])
def test_a_worker_killed_at_work_loses_nothing(
    kind: Callable[[Path, ExitStack], tuple[str, str]], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        broker, database = kind(tmp_path, stack)
        site = Site(
            DATABASE_URL=database,
            DATA_DIR=str(tmp_path),
            CELERY_BROKER_URL=broker,
            CELERY_QUEUE=f"test-{uuid4().hex[:8]}",
            SWEEP_SECONDS="1",
            MEMORYBANK_LEASE_SECONDS="3",
            MEMORYBANK_SWEEP_CHATS_PER_BANK="1",
        )
        site.run("migrate", "-v0")
        (tmp_path / "log.jsonl").write_text(log_of(CHATS, projects=2))
        site.run("import_chats", str(tmp_path / "log.jsonl"), "--enable")
        with worker(site):
            wait_for(lambda: summarised(site) > 0)
        assert site.json("check_memory")["ok"]
        with worker(site):
            wait_for(lambda: summarised(site) == CHATS)
            wait_for(lambda: "Hamburg" in site.run("show_memory", "acme/p0"))
        assert site.json("check_memory")["ok"]
