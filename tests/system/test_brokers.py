"""Real Celery workers with beat, on every broker we name: chats become memory, and kill -9 loses nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from uuid import uuid4

import pytest
from kombu import Connection

from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import needs_postgres, needs_rabbitmq, needs_redis, only_in_ci

from .test_concurrency import CHATS, PROJECTS, Holding, knows_its_own_chats_and_no_others, leaves, lines

pytestmark = [only_in_ci, pytest.mark.own_servers]

QUICK_SWEEPS = {"SWEEP_SECONDS": "2"}


@pytest.fixture(params=["files and SQLite", "Redis and PostgreSQL", "RabbitMQ and PostgreSQL"])
def own_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A site whose minute lasts two seconds, with a broker that nobody else's messages are in."""
    if request.param.startswith("files"):
        with site(tmp_path, CELERY_BROKER_URL="filesystem://", **QUICK_SWEEPS) as made:
            yield made
        return
    broker = own_redis(needs_redis()) if request.param.startswith("Redis") else own_queue(needs_rabbitmq())
    postgres = needs_postgres()
    with (
        broker as (address, queue),
        site(tmp_path, postgres=postgres, CELERY_BROKER_URL=address, CELERY_QUEUE=queue, **QUICK_SWEEPS) as made,
    ):
        yield made


@contextmanager
def own_redis(server: str) -> Iterator[tuple[str, str]]:
    """The address of the last empty database, emptied again afterwards, and a queue's name."""
    import redis

    for number in range(15, 0, -1):
        client = redis.Redis.from_url(f"{server}/{number}")
        if not client.dbsize() and client.set("memorybank-test", os.getpid(), nx=True):  # nobody else's from now on
            break
        client.close()
    else:
        pytest.fail(f"No database of {server} is empty.")
    try:
        yield f"{server}/{number}", "memorybank"
    finally:
        client.flushdb()
        client.close()


@contextmanager
def own_queue(server: str) -> Iterator[tuple[str, str]]:
    """The server's address, and the name of a queue that is deleted afterwards."""
    queue = f"memorybank-test-{uuid4().hex[:12]}"
    try:
        yield server, queue
    finally:
        with Connection(server) as connection:
            channel = connection.default_channel
            channel.queue_delete(queue)
            channel.exchange_delete(queue)


def start_worker(own_site: Site, model: Holding) -> Popen[bytes]:
    """Worker and beat in one, as the demo starts them."""
    name = f"test-{uuid4().hex[:8]}@%h"
    options = ["-B", "--pool", "threads", "--concurrency", "2", "--loglevel", "WARNING", "--hostname", name]
    environment = {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "held"}
    return own_site.start("-m", "celery", "-A", "config", "worker", *options, **environment)


def settled(own_site: Site) -> bool:
    """Nothing waits, and the stored blocks are current."""
    waiting = own_site.ask("SELECT sum(pending_outputs) FROM memorybank_chat")
    current = own_site.ask(
        "SELECT text FROM memorybank_storedblock JOIN memorybank_bank ON memorybank_bank.id = bank_id"
        " WHERE memorybank_storedblock.version = memorybank_bank.version AND consolidate_at IS NULL"
    )
    return waiting == [(0,)] and len(current) == len(PROJECTS) and all("jam" in block for (block,) in current)


def test_chats_become_memory_although_a_worker_is_killed_in_mid_task(own_site: Site) -> None:
    assert own_site.call("import_chats", "-", "--enable", stdin=lines()).code == 0
    with Holding() as model:
        first = start_worker(own_site, model)
        wait_until(lambda: model.calls, "called", own_site)
        kill(first)
        for table in ("memorybank_chat", "memorybank_bank"):  # only the killed worker's leases are left: they run out
            own_site.tell(f"UPDATE {table} SET leased_until = CURRENT_TIMESTAMP WHERE leased_until IS NOT NULL")

        start_worker(own_site, model)
        wait_until(lambda: settled(own_site), "settled", own_site)

    assert own_site.call("check_memory").code == 0
    assert leaves(own_site) == [(chat, 2) for chat in CHATS]
    assert knows_its_own_chats_and_no_others(own_site)
    sent = model.chats()
    assert set(sent) == set(CHATS)
    assert max(sent.values()) <= 2  # what the killed worker had begun, it was asked again for, once
