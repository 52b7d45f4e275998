"""Workers take the next due chat themselves: fair, without a pause or a limit, and none is lost with a worker."""

import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, site, wait_until
from tests.support.requirements import needs_postgres, only_in_ci

SEED = """
from datetime import timedelta
from django.utils import timezone
from memorybank import services
from memorybank.models import Bank
before = timezone.now() - timedelta(days=1)
for chats in ({chats}):
    bank = Bank.objects.create()
    services.enable(bank, actor="test", disclosure_accepted=True)
    for number in range(chats):
        said = f"We decided everything about apple jam number {{number}} today."
        services.record(bank, chat_key=f"c{{number}}", author="Ann", question=said, created_at=before)
"""


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """On the embedded default. No beat: a test sweeps as often as it says."""
    with site(tmp_path) as made:
        yield made


def seed(own_site: Site, *chats: int) -> None:
    """A bank for each number, with so many due chats."""
    done = own_site.call(
        "shell", "--verbosity", "0", "-c", SEED.format(chats="".join(f"{number}," for number in chats))
    )
    assert done.code == 0, done.err


def sweep(own_site: Site) -> None:
    """Queue a sweep, by its name as beat does."""
    settings = {name: value for name, value in own_site.settings().items() if name.startswith("CELERY_")}
    with Celery("beat", set_as_current=False) as beat:
        beat.config_from_object(settings, namespace="CELERY")
        beat.send_task("memorybank.tasks.sweep")


def start_worker(
    own_site: Site, model: OpenAIServer, pool: str = "threads", size: int = 2, key: str = ""
) -> Popen[bytes]:
    """``key`` is the API key with which the model knows it from others."""
    options = ["--pool", pool, "--concurrency", size, "--loglevel", "WARNING", "--hostname", f"{uuid4().hex}@%h"]
    environment = {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "test", "LLM_API_KEY": key}
    return own_site.start("-m", "celery", "-A", "config", "worker", *options, **environment)


class Gate(OpenAIServer):
    """Answers a call when it is told to; ``under_way`` is how many wait for it, ``most`` how many ever did at once."""

    def __init__(self) -> None:
        super().__init__(keep=1000)
        self.under_way = self.most = 0
        self._calls_let_through = threading.Semaphore(0)
        self._count = threading.Lock()

    def record(self, body: dict[str, Any], key: str) -> None:
        self._enter(1)
        super().record(body, key)
        self._calls_let_through.acquire()
        self.stopping.wait(0.05)  # in which another would come if it might
        self._enter(-1)

    def let_through(self, calls: int) -> None:
        self._calls_let_through.release(calls)

    def _enter(self, more: int) -> None:
        with self._count:
            self.under_way += more
            self.most = max(self.most, self.under_way)


def leased(own_site: Site) -> int:
    """Chats that somebody works on."""
    ((count,),) = own_site.ask("SELECT count(*) FROM memorybank_chat WHERE leased_until IS NOT NULL")
    return int(count)


def waiting(own_site: Site) -> int:
    return int(own_site.ask("SELECT sum(pending_outputs) FROM memorybank_chat")[0][0])


def stale(own_site: Site) -> int:
    """Banks whose stored block is not what it should be."""
    newest = "SELECT max(version) FROM memorybank_storedblock WHERE bank_id = memorybank_bank.id"
    query = f"SELECT count(*) FROM memorybank_bank WHERE ({newest}) < version OR consolidate_at IS NOT NULL"
    return int(own_site.ask(query)[0][0])


@only_in_ci
@pytest.mark.own_servers
def test_one_sweep_is_enough_for_any_number_of_chats_and_the_block_is_current_without_another(own_site: Site) -> None:
    seed(own_site, 20, 1)
    with OpenAIServer(keep=1000) as model:
        start_worker(own_site, model)
        sweep(own_site)
        wait_until(lambda: not waiting(own_site) and not stale(own_site), "settled", own_site)
        assert model.calls == 21
    assert own_site.call("check_memory").code == 0


@only_in_ci
@pytest.mark.own_servers
def test_a_worker_of_processes_that_is_told_to_end_finishes_its_chats_and_takes_no_more(own_site: Site) -> None:
    """A worker of threads: :func:`test_a_chat_that_is_only_prepared_is_given_back`."""
    seed(own_site, 30)
    with OpenAIServer(delay=1, keep=1000) as model:
        worker = start_worker(own_site, model, "prefork")
        sweep(own_site)
        wait_until(lambda: model.calls, "called", own_site)
        worker.terminate()
        assert worker.wait(timeout=PROCESS_TIMEOUT_SECONDS) == 0
        assert waiting(own_site) == 30 - model.calls > 0
        assert own_site.ask("SELECT count(*) FROM memorybank_chat WHERE leased_until IS NOT NULL") == [(0,)]


@only_in_ci
@pytest.mark.own_servers
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_while_a_worker_s_call_is_under_way_its_next_chat_is_begun_but_not_asked_about(
    database: str, tmp_path: Path
) -> None:
    with site(tmp_path, postgres=needs_postgres() if database == "PostgreSQL" else "") as made, Gate() as model:
        seed(made, 3, 3)
        worker = start_worker(made, model, size=1)
        sweep(made)
        wait_until(lambda: model.under_way and leased(made) == 2, "prepared the next", made)
        assert model.calls == 1
        model.let_through(6)
        wait_until(lambda: not waiting(made), "summarised", made)
        wait_until(lambda: not stale(made), "settled", made)
        worker.terminate()
        assert worker.wait(timeout=PROCESS_TIMEOUT_SECONDS) == 0
        assert (model.calls, model.most, leased(made)) == (6, 1, 0)
        assert made.call("check_memory").code == 0


@only_in_ci
@pytest.mark.own_servers
def test_a_worker_that_is_added_takes_its_share_without_another_sweep(own_site: Site) -> None:
    seed(own_site, 30, 30)
    own_site.env |= {"SWEEP_SECONDS": "600"}
    with Gate() as model:
        start_worker(own_site, model, key="first")
        sweep(own_site)
        wait_until(lambda: model.under_way == 2, "busy", own_site)
        start_worker(own_site, model, key="second")
        wait_until(lambda: model.under_way == 4, "shared", own_site)
        before = len(model.keys)
        for _ in range(24):
            calls = model.calls
            model.let_through(1)
            wait_until(lambda: model.calls > calls, "working on", own_site)  # noqa: B023
        taken = list(model.keys)[before:]
        assert 8 <= sum("second" in key for key in taken) <= 16, taken
        model.let_through(60)


IMPORT = """
from datetime import timedelta
from django.utils import timezone
from memorybank import services
from memorybank.models import Bank
before = timezone.now() - timedelta(days=1)
bank = Bank.objects.create()
services.enable(bank, actor="test", disclosure_accepted=True)
said = [(f"c{number}", f"We decided everything about plum jam number {number} today.") for number in range(2000)]
services.record_many(
    bank, [services.NewOutput(chat_key=key, author="Ann", question=text, created_at=before) for key, text in said]
)
"""
SWEEP = "from memorybank.tasks import sweep; sweep()"


@only_in_ci
@pytest.mark.own_servers
@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_a_tenant_that_imports_a_year_does_not_hold_up_the_others(database: str, tmp_path: Path) -> None:
    postgres = needs_postgres() if database == "PostgreSQL" else ""
    with site(tmp_path, postgres=postgres, SWEEP_SECONDS="600") as made, Gate() as model:
        imported = made.call("shell", "--verbosity", "0", "-c", IMPORT)
        assert imported.code == 0, imported.err
        start_worker(made, model)
        sweep(made)
        model.let_through(10)
        wait_until(lambda: model.under_way == 2 and leased(made) == 4, "busy with the import", made)
        seed(made, 1)
        assert made.manage("shell", "--verbosity", "0", "-c", SWEEP).code == 0
        before = model.calls
        model.let_through(20)
        wait_until(lambda: model.calls == before + 20, "working on", made)
        [position] = [number for number, body in enumerate(model.requests) if "apple jam" in str(body)]
        # What two workers had prepared when it fell due, a few more of the import, and then it.
        assert position < before + 8
        assert waiting(made) > 1900


@only_in_ci
@pytest.mark.own_servers
@pytest.mark.parametrize("why", ["told to end", "the model is down"])
def test_a_chat_that_is_only_prepared_is_given_back(why: str, own_site: Site) -> None:
    own_site.env |= {"LLM_MAX_RETRIES": "0"}
    seed(own_site, 6)
    with Gate() as model:
        worker = start_worker(own_site, model, size=1)
        sweep(own_site)
        wait_until(lambda: model.under_way and leased(own_site) == 2, "prepared the next", own_site)
        if why == "told to end":
            worker.terminate()
            wait_until(lambda: "Warm shutdown" in own_site.output(), "told to end", own_site)
        else:
            model.mode = "500"
        model.let_through(6)
        wait_until(lambda: not leased(own_site), "given back", own_site)
        is_down = model.mode == "500"
        if is_down:  # sentences stand in for all; a chat that was not given back would be left out
            sweep(own_site)
            wait_until(lambda: not waiting(own_site) and not leased(own_site), "extracted", own_site)
        worker.terminate()
        assert worker.wait(timeout=PROCESS_TIMEOUT_SECONDS) == 0
        stand_ins = own_site.ask("SELECT count(*) FROM memorybank_entry WHERE stale AND provisional")
        assert (model.calls, waiting(own_site), stand_ins) == (1, *((0, [(6,)]) if is_down else (5, [(0,)])))
