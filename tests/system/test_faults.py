"""A seeded run of faults on its own PostgreSQL and Redis, while clients write, correct, erase, hide chats and stream.

``TEST_FAULTS`` is how many (40 in CI; a run of hours: 20000), ``TEST_FAULT_SEED`` the seed.
``support.fault_history`` judges.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from psycopg import sql

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.database_proxy import DatabaseProxy
from tests.support.fault_history import LIE, FaultHistory
from tests.support.fault_programs import MEMBER, FaultProgram
from tests.support.gateway_site import PROJECTS, Gateway, gateway
from tests.support.openai_server import OpenAIServer, answer
from tests.support.own_postgres import Server, has_namespaces, own_postgres
from tests.support.own_site import Site, kill, wait_until
from tests.support.requirements import needs_namespaces, needs_postgres_programs, needs_redis, only_in_ci
from tests.support.upstream_events import ModelAnswer as Answer

from .test_brokers import own_redis

asked_for = [] if "TEST_FAULTS" in os.environ else [only_in_ci]
pytestmark = [pytest.mark.long, pytest.mark.own_servers, *asked_for]

FAULTS, SEED = int(os.environ.get("TEST_FAULTS", "40")), int(os.environ.get("TEST_FAULT_SEED", "1"))
QUEUE = "memorybank"
#: As long a machine with a wrong clock works: its work does not end while the programs write.
CLOCK_SECONDS = 5
#: So many megabytes the database's own disk has, and this is how long it stays full.
DISK_MEGABYTES, FULL_SECONDS = 512, 2
#: The log of PostgreSQL's transactions takes little of it.
SMALL_LOG = "-c max_wal_size=32MB -c min_wal_size=2MB"
#: So many facts there are of each program before the first fault, so that it can correct some.
FIRST_FACTS = 6
#: A member, for whom the programs make chats private.
ADD_MEMBER = f"""
from django.contrib.auth.models import User
from projects.models import Membership, Tenant
user = User.objects.create(username="{MEMBER}")
Membership.objects.bulk_create(Membership(tenant=tenant, user=user) for tenant in Tenant.objects.all())
"""
#: Everything is due at once, and what a killed worker held is free after seconds.
QUICK = {
    "SWEEP_SECONDS": "1", "LLM_TIMEOUT": "3", "LLM_MAX_RETRIES": "0",
    "MEMORYBANK_DUE_AFTER_TURNS": "1", "MEMORYBANK_LEASE_SECONDS": "10", "MEMORYBANK_REFRESH_SECONDS": "1",
    "MEMORYBANK_BACKOFF_SECONDS": "1", "MEMORYBANK_BACKOFF_MAX_SECONDS": "2",
}  # fmt: skip


class Faults:
    """What goes wrong. Each fault is one method; how often each comes is its weight."""

    def __init__(
        self,
        found: Gateway,
        model: OpenAIServer,
        broker: redis.Redis,
        proxy: DatabaseProxy,
        database: Server,
        draw: random.Random,
    ) -> None:
        self.found, self.model, self.broker, self.proxy, self.draw = found, model, broker, proxy, draw
        self.database = database
        self.is_partitioned, self.stopped = False, 0
        self.worker, self.beat = self._worker(), self._beat()
        self.weights: dict[Callable[[], object], int] = {
            self.database_cuts_connections: 32, self.model_changes: 35, self.broker_loses: 10, self.broker_doubles: 10,
            self.clock_steps: 6, self.worker_is_killed: 4, self.web_is_killed: 1, self.beat_is_killed: 2,
            self.partition_begins_or_ends: 10, self.database_restarts: 10, self.disk_is_full: 6 * bool(database.within),
        }  # fmt: skip

    def strike(self) -> str:
        fault = self.draw.choices(list(self.weights), list(self.weights.values()))[0]
        fault()
        return fault.__name__  # type: ignore[attr-defined]

    def database_cuts_connections(self) -> None:
        with suppress(psycopg.Error):
            self.found.site.ask(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def database_restarts(self) -> None:
        """In good order, or as after a crash: from its log."""
        self.database.stop(self.draw.choice(["fast", "immediate"]))
        self.database.start()

    def disk_is_full(self) -> None:
        """Rows are refused; if its log has no room either, PostgreSQL stops. Then somebody makes room and starts it."""
        self.database.fill_disk(with_log=self.draw.random() < 0.5)
        time.sleep(FULL_SECONDS)
        self.database.free_disk()
        self.stopped += self.database.recover()

    def model_changes(self) -> None:
        """Down, refusing, slow, talking nonsense, lying, or well."""
        self.model.mode = self.draw.choice(["ok", "ok", "500", "429", "empty", "garbage", "401", "400", "badjson"])
        self.model.delay = self.draw.choice([0.0, 0.0, 0.5, 4.0])
        lies = self.draw.random() < 0.3
        self.model.answer = (lambda messages: f"- fact: Hall {LIE} is full. [1]\n- fact: x [99]") if lies else answer

    def broker_loses(self) -> None:
        self.broker.delete(QUEUE, "unacked", "unacked_index")

    def broker_doubles(self) -> None:
        if messages := self.broker.lrange(QUEUE, 0, -1):
            self.broker.rpush(QUEUE, *messages)

    def clock_steps(self) -> None:
        """A machine whose clock is hours off does the work, too, until it is switched off."""
        now = datetime.now(UTC) + timedelta(hours=self.draw.choice([-30, -2, 2, 30]))
        ran = self.found.site.start("manage.py", "run_memory", "--now", now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        with suppress(subprocess.TimeoutExpired):
            ran.wait(CLOCK_SECONDS)
        kill(ran)

    def worker_is_killed(self) -> None:
        kill(self.worker)
        self.worker = self._worker()

    def web_is_killed(self) -> None:
        kill(self.found.server)
        self.found.restart()

    def beat_is_killed(self) -> None:
        kill(self.beat)
        self.beat = self._beat()

    def partition_begins_or_ends(self) -> None:
        """Between worker and database nothing arrives, or each connection is refused, until the next such fault."""
        if self.is_partitioned:
            self.proxy.recover()
        else:
            self.draw.choice([self.proxy.freeze, self.proxy.refuse])()
        self.is_partitioned = not self.is_partitioned

    def end(self) -> None:
        """All is well again."""
        self.proxy.recover()
        self.model.mode, self.model.delay, self.model.answer = "ok", 0.0, answer
        self.worker_is_killed()
        self.beat_is_killed()

    def _worker(self) -> Any:
        options = [
            "--pool",
            "threads",
            "--concurrency",
            2,
            "--loglevel",
            "ERROR",
            "--hostname",
            f"{random.random()}@%h",
        ]
        environment = {**self._model_environment(), "DATABASE_URL": self.proxy.to(self.found.site.database_url)}
        return self.found.site.start("-m", "celery", "-A", "config", "worker", *options, **environment)

    def _beat(self) -> Any:
        return self.found.site.start("-m", "celery", "-A", "config", "beat", "--loglevel", "ERROR", "--pidfile", "")

    def _model_environment(self) -> dict[str, str]:
        return {"SUMMARY_LLM_BASE_URL": self.model.base_url, "SUMMARY_LLM_MODEL": "test"}


@contextmanager
def programs(found: Gateway, history: FaultHistory) -> Iterator[None]:
    """Two programs at work, once memory has facts of both; an error of theirs is the test's."""
    keys, over = {}, threading.Event()
    added = found.site.manage("shell", "--no-imports", "-c", ADD_MEMBER)
    assert added.code == 0, added.err
    for project in PROJECTS[::2]:
        options = ("--name", "faults", "--scopes", "read,write,admin,people", "--json")
        keys[project] = json.loads(found.site.call("create_api_key", project, *options).out)["key"]
    working = [FaultProgram(number, SEED, found, keys, history, over) for number in (1, 2)]
    for program in working:
        program.start()
    for program in working:  # a site that was just started answers late
        remembered = f"SELECT count(*) FROM memorybank_fact WHERE text LIKE '%mk-{program.number}-%'"
        wait_until(lambda query=remembered: found.site.ask(query)[0][0] >= FIRST_FACTS, "remembered", found.site)
    yield
    over.set()
    for program in working:
        program.join(PROCESS_TIMEOUT_SECONDS)
        assert program.failure is None, program.failure


def keep_pace(history: FaultHistory) -> None:
    """Wait until the programs have done something since the last fault, at most ten seconds."""
    before, until = history.counts["steps"], time.monotonic() + 10
    while history.counts["steps"] < before + 2 and time.monotonic() < until:
        time.sleep(0.02)


def end_abandoned_transactions(database_url: str) -> None:
    """As docs/operating.md recommends; otherwise what a worker locked before a partition stays locked until its end."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("ALTER DATABASE {} SET idle_in_transaction_session_timeout = '2s'").format(name))


def unsettled(made: Site) -> list[tuple[object, ...]]:
    """Chats that wait or are held, and banks that are due for a roll-up, with their times."""
    chats = made.ask(
        "SELECT key, pending_outputs, due_at, leased_until, attempts, parked_at FROM memorybank_chat c"
        " WHERE leased_until > now() OR (pending_outputs > 0 AND"
        " (NOT private OR EXISTS (SELECT 1 FROM memorybank_chatreader r WHERE r.chat_id = c.id)))"
    )
    return chats + made.ask(
        "SELECT id, consolidate_at, leased_until FROM memorybank_bank WHERE consolidate_at <= now()"
    )


def wait_until_settled(made: Site) -> None:
    """Wait until nothing is, and retry what was parked: the lease of a killed worker may end as late as now.

    If it does not come to that, say what still waits.
    """

    def settled() -> bool:
        if made.ask("SELECT 1 FROM memorybank_chat WHERE parked_at IS NOT NULL LIMIT 1"):
            for project in PROJECTS[::2]:
                made.call("run_memory", project, "--retry-parked")
        return not unsettled(made)

    try:
        wait_until(settled, "settled", made)
    except AssertionError as error:
        raise AssertionError(f"still waiting: {unsettled(made)}") from error


def test_nothing_is_lost_doubled_or_resurrected_whatever_fails(tmp_path: Path) -> None:
    draw, history = random.Random(SEED), FaultHistory()
    struck: dict[str, int] = {}
    with own_redis(needs_redis()) as (address, queue), OpenAIServer(keep=10) as model, ExitStack() as stack:
        environment = {"CELERY_BROKER_URL": address, "CELERY_QUEUE": queue, **QUICK}
        disk = DISK_MEGABYTES if has_namespaces() else 0
        database = stack.enter_context(own_postgres(needs_postgres_programs(), disk_megabytes=disk, options=SMALL_LOG))
        with gateway(tmp_path, postgres=database.address, **environment) as served_site:
            served_site.upstream.answer = lambda body: Answer(
                "Noted."
            )  # one that quoted memory would stay in its chat, as promised
            end_abandoned_transactions(served_site.site.database_url)
            proxy = stack.enter_context(DatabaseProxy(served_site.site.database_url))
            faults = Faults(served_site, model, redis.Redis.from_url(address), proxy, database, draw)
            started = time.monotonic()
            with programs(served_site, history):
                for number in range(FAULTS):
                    time.sleep(draw.uniform(0.02, 0.25))
                    name = faults.strike()
                    struck[name] = struck.get(name, 0) + 1
                    keep_pace(history)
                    if number % 100 == 99:
                        sys.stdout.write(f"{number + 1} faults, {len(history.said)} texts\n")
                        sys.stdout.flush()
                faults.end()
                wait_until(lambda: all(history.judged().values()), "enough to judge", served_site.site)
            wait_until_settled(served_site.site)
            checked = served_site.site.call("check_memory")
            wrong = history.judge(served_site.site.ask)
            seconds = round(time.monotonic() - started)
    erased = sum(text.erased for text in history.said.values())
    acknowledged = sum(text.acknowledged for text in history.said.values())
    sys.stdout.write(
        f"\nseed {SEED}: {FAULTS} faults in {seconds} s: {struck}; a full disk stopped {faults.stopped}\n"
        f"{len(history.said)} texts, {acknowledged} acknowledged, {erased} erased; {history.judged()};"
        f" {dict(history.counts)}\n"
    )
    assert checked.code == 0, checked.out
    assert wrong == []
    assert acknowledged > FAULTS / 3  # it was no run against a site that was down
    assert all(history.judged().values()), history.judged()
    needs_namespaces()  # without them all other faults have been tried
