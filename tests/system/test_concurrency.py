"""Many processes at once, on SQLite and on PostgreSQL: nothing lost, nothing twice, no lock error."""

import json
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from memorybank import services
from memorybank.models import Bank, Chat
from memorybank.writing import work_queue
from projects.importing.service import BATCH_LINES
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.factories import make_bank, say
from tests.support.factories import run as run_memory
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import in_ci, needs_postgres, only_in_ci

PROJECTS = ("acme/apollo", "acme/zeus")
CHATS = ("apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel")
LEASE = timedelta(hours=4)  # half of it is longer than any machine needs


@pytest.fixture(params=["SQLite", pytest.param("PostgreSQL", marks=in_ci)])
def own_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    postgres = needs_postgres() if request.param == "PostgreSQL" else ""
    with site(tmp_path, postgres=postgres) as made:
        yield made


class Holding(OpenAIServer):
    """Answers everybody but the very first caller, who waits until the server ends."""

    def __init__(self) -> None:
        super().__init__(keep=1000)
        self.first = ""
        self._choice = threading.Lock()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        with self._choice:
            mine, self.first = not self.first, self.first or key
        if mine:
            self.stopping.wait()

    def chats(self) -> Counter[str]:
        """How often each chat was sent."""
        sent = [re.search(r"about (\w+) jam", json.dumps(body)) for body in self.requests]
        return Counter(match[1] for match in sent if match)


def project_of(chat: str) -> str:
    """Every other chat is in the second project."""
    return PROJECTS[CHATS.index(chat) % len(PROJECTS)]


def line(chat: str, question: str, **more: str) -> str:
    """One turn of a day ago, for import."""
    tenant, project = project_of(chat).split("/")
    day = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    where = {"tenant": tenant, "project": project, "chat": chat}
    return json.dumps({**where, "user": "Ann", "question": question, "answer": "Noted.", "created_at": day, **more})


def lines() -> str:
    """Two turns in each chat."""
    turns = (
        "We decided everything about {} jam today.",
        "The labels of {} jam shall be printed in Hamburg from now on.",
    )
    return "\n".join(line(chat, question.format(chat)) for chat in CHATS for question in turns)


def knows_its_own_chats_and_no_others(own_site: Site) -> bool:
    """What each project's prompts get is of all its chats, and of none of the other project's."""
    for project in PROJECTS:
        result = own_site.call("show_memory", project)
        assert (result.code, "Hamburg" in result.out) == (0, True), result
        assert {chat for chat in CHATS if f"{chat} jam" in result.out} == {c for c in CHATS if project_of(c) == project}
    return True


def leaves(own_site: Site) -> list[tuple[str, int]]:
    """Each leaf's chat and how many turns it covers."""
    query = (
        "SELECT chat.key, leaf.output_count FROM memorybank_entry leaf "
        "JOIN memorybank_chat chat ON chat.id = leaf.chat_id ORDER BY chat.key, leaf.first_output"
    )
    return own_site.ask(query)


@only_in_ci
@pytest.mark.own_servers
def test_three_runs_at_once_and_one_killed_in_mid_call(own_site: Site) -> None:
    assert own_site.call("import_chats", "-", "--enable", stdin=lines()).code == 0
    with Holding() as model:
        own_site.env |= {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "held"}
        own_site.env |= {"MEMORYBANK_LEASE_SECONDS": str(LEASE.seconds)}
        workers = {
            f"worker-{number}": own_site.start(
                "manage.py", "run_memory", "--until-idle", LLM_API_KEY=f"worker-{number}"
            )
            for number in range(3)
        }
        wait_until(lambda: model.calls > 1, "called by two", own_site)
        kill(workers.pop(model.first))
        assert [worker.wait(timeout=PROCESS_TIMEOUT_SECONDS) for worker in workers.values()] == [0, 0], (
            own_site.output()
        )

        assert own_site.call("check_memory").code == 0
        assert leaves(own_site) == [(chat, 2) for chat in CHATS if chat != held_chat(model)]
        assert model.chats() == Counter(CHATS)  # the killed call among them

        resumes_when_the_lease_is_over(own_site)
        assert model.chats() == Counter(CHATS) + Counter([held_chat(model)])

        again = own_site.call("run_memory", "--until-idle", "--json", "--now", (datetime.now(UTC) + LEASE).isoformat())
        assert (again.json["llm_calls"], again.json["due"]) == (0, 0)
    assert leaves(own_site) == [(chat, 2) for chat in CHATS]
    assert own_site.call("check_memory").code == 0
    assert knows_its_own_chats_and_no_others(own_site)


def held_chat(model: Holding) -> str:
    """The chat of the call that was never answered."""
    match = re.search(r"about (\w+) jam", json.dumps(model.requests[0]))
    assert match
    return match[1]


def resumes_when_the_lease_is_over(own_site: Site) -> None:
    """The killed worker's chat waits while it is leased, and becomes memory as soon as it is not."""
    for after, summarised in ((LEASE / 2, 0), (LEASE, 1)):
        now = (datetime.now(UTC) + after).isoformat()
        ran = own_site.call("run_memory", "--until-idle", "--json", "--now", now)
        assert (ran.code, ran.json["summarised"]) == (0, summarised)


@only_in_ci
@pytest.mark.own_servers
def test_eight_writers_while_chats_are_summarised(own_site: Site) -> None:
    turns = 15
    assert own_site.call("import_chats", "-", "--enable", stdin=lines()).code == 0
    with OpenAIServer(delay=0.02) as model:
        own_site.env |= {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "quick", "MEMORYBANK_DUE_AFTER_TURNS": "4"}
        crowd = own_site.start("-m", "tests.support.concurrent_writers", PROJECTS[0], turns)
        assert crowd.wait(timeout=PROCESS_TIMEOUT_SECONDS) == 0, own_site.output()[-3000:]
        assert own_site.call("check_memory").code == 0
        later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        assert own_site.call("run_memory", "--until-idle", "--now", later).code == 0
    assert sum(count for _, count in leaves(own_site)) == 8 * turns + 2 * len(CHATS)
    assert own_site.call("check_memory").code == 0


@only_in_ci
@pytest.mark.own_servers
def test_two_imports_into_the_same_chats_while_they_are_summarised(own_site: Site, tmp_path: Path) -> None:
    assert own_site.call("import_chats", "-", "--enable", stdin=lines()).code == 0
    with OpenAIServer(delay=0.2) as model:
        own_site.env |= {"LLM_BASE_URL": model.base_url, "LLM_MODEL": "slow", "MEMORYBANK_DUE_AFTER_TURNS": "2"}
        working = [own_site.start("manage.py", "run_memory", "--until-idle")]
        wait_until(lambda: model.calls, "called", own_site)
        for writer in range(2):
            text = f"Importer number {writer} ordered another crate of {{}} jam for Hamburg."
            path = tmp_path / f"writer {writer}.jsonl"
            path.write_text(
                "\n".join(line(chat, text.format(chat), id=f"{writer}/{n}") for n in range(5) for chat in CHATS)
            )
            working.append(own_site.start("manage.py", "import_chats", path))
        assert [process.wait(timeout=PROCESS_TIMEOUT_SECONDS) for process in working] == [0] * 3, own_site.output()[
            -3000:
        ]
        assert own_site.call("check_memory").code == 0
        later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        assert own_site.call("run_memory", "--until-idle", "--now", later).code == 0
    covered = Counter[str]()
    for chat, count in leaves(own_site):
        covered[chat] += count
    assert covered == Counter(dict.fromkeys(CHATS, 2 + 2 * 5))
    assert own_site.call("check_memory").code == 0
    assert knows_its_own_chats_and_no_others(own_site)


def batches_and_a_half() -> list[str]:
    """More lines than one transaction takes, of all chats by turns."""
    lines = BATCH_LINES + BATCH_LINES // 2
    return [line(CHATS[n % len(CHATS)], f"Crate number {n}.", id=f"c-{n}") for n in range(lines)]


def recorded(own_site: Site) -> int:
    ((count,),) = own_site.ask("SELECT count(*) FROM memorybank_output")
    return int(count)


def recorded_in_order(own_site: Site) -> bool:
    """Whether each line is recorded once, in the order of the file within its chat."""
    keys = [key for _, key in own_site.ask("SELECT id, key FROM memorybank_output ORDER BY id")]
    numbers = [int(key.removeprefix("c-")) for key in keys]
    assert sorted(numbers) == list(range(BATCH_LINES + BATCH_LINES // 2))
    for chat in range(len(CHATS)):
        of_chat = [number for number in numbers if number % len(CHATS) == chat]
        assert of_chat == sorted(of_chat)
    assert own_site.call("check_memory").code == 0
    return True


@only_in_ci
@pytest.mark.own_servers
def test_the_same_file_imported_by_two_at_once_is_recorded_once(own_site: Site, tmp_path: Path) -> None:
    path = tmp_path / "crates.jsonl"
    path.write_text("\n".join(batches_and_a_half()))
    importers = [own_site.start("manage.py", "import_chats", path, "--enable") for _ in range(2)]
    assert [importer.wait(timeout=PROCESS_TIMEOUT_SECONDS * 2) for importer in importers] == [0, 0], own_site.output()[
        -3000:
    ]
    assert recorded_in_order(own_site)


@only_in_ci
@pytest.mark.own_servers
def test_an_import_that_is_killed_between_two_batches_goes_on_where_it_was(own_site: Site) -> None:
    text = "\n".join(batches_and_a_half())
    killed = own_site.start("manage.py", "import_chats", "-", stdin=subprocess.PIPE)
    assert killed.stdin
    with killed.stdin:  # open until the end, so that the importer waits for more
        killed.stdin.write(text.encode())
        killed.stdin.flush()
        wait_until(lambda: recorded(own_site) == BATCH_LINES, "recorded a batch", own_site)
        kill(killed)
    again = own_site.call("import_chats", "-", "--json", stdin=text).json
    assert (again["known"], again["recorded"], again["bad"]) == (BATCH_LINES, BATCH_LINES // 2, 0)
    assert recorded_in_order(own_site)


# --- one process, but the other's step falls between two queries ----------------------------------------


def at_query(number: int, act: Callable[[], object]) -> Callable[..., Any]:
    """A wrapper of queries that acts before the ``number``-th one, once."""
    count = iter(range(1_000_000))

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if next(count) == number:
            act()
        return execute(sql, params, many, context)

    return wrapper


@pytest.mark.django_db
@pytest.mark.parametrize("number", range(6))
def test_it_renders_while_a_summary_is_written(number: int, settings: Any) -> None:
    settings.MEMORYBANK = {}
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    bank = make_bank(now=now)
    say(bank, "old", "The harbour crane must be replaced before the winter storms begin.", at=now)
    run_memory(now + timedelta(hours=1))
    say(bank, "new", "The invoice importer was moved away from the old cluster yesterday.", at=now + timedelta(hours=2))

    with connection.execute_wrapper(at_query(number, lambda: run_memory(now + timedelta(hours=3)))):
        block = services.render(Bank.objects.get(pk=bank.pk))

    assert "harbour crane" in block.text
    run_memory(now + timedelta(hours=4))
    assert "invoice importer" in services.render(bank).text


@pytest.mark.django_db
@pytest.mark.parametrize("number", range(8))
def test_workers_that_begin_at_the_same_moment_all_find_work(number: int) -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    say(make_bank(now=now), "c", "The harbour crane must be replaced before the winter storms begin.", at=now)
    later = now + timedelta(hours=1)

    with connection.execute_wrapper(at_query(number, lambda: work_queue.next_chat(later))):
        assert work_queue.next_chat(later) is not None


@pytest.mark.django_db
def test_it_does_not_forget_a_turn_of_a_request_that_began_before_memory_was_on() -> None:
    bank = make_bank(enabled=False)
    stale = Bank.objects.get(pk=bank.pk)
    services.enable(bank, actor="alice", disclosure_accepted=True)

    say(stale, "chat", "The answer to this took a minute, in which memory was switched on.")

    assert Chat.objects.get().due_at
    assert services.find_violations(bank) == []


FAILED_AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
#: By the worker whose call was the first good one after an outage, and by a person.
PARDONS: dict[str, Callable[[Bank], int]] = {
    "after an outage": lambda bank: Chat.objects.revive(FAILED_AT),
    "on request": lambda bank: services.retry_parked(bank, actor="alice"),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time, whatever the order")
@pytest.mark.parametrize("when", PARDONS)
def test_a_pardon_waits_for_whoever_writes_in_several_chats_of_a_bank(when: str) -> None:
    bank = make_bank()
    for key in ("first", "second"):
        say(bank, key, "The harbour crane must be replaced before the winter storms begin.")
    Chat.objects.update(attempts=3, failed_since=FAILED_AT, parked_at=FAILED_AT)

    with ThreadPoolExecutor(1) as pool, transaction.atomic():  # a host site may record two turns in one transaction
        say(bank, "second", "Where is the crane?", status="error")  # an answered turn would be a new chance by itself
        pardoned = pool.submit(elsewhere, PARDONS[when], bank)
        wait_until_blocked()
        say(bank, "first", "Where is the crane?", status="error")

    assert pardoned.result() == 2
    assert set(Chat.objects.values_list("attempts", "parked_at")) == {(0, None)}


def elsewhere(act: Callable[[Bank], int], bank: Bank) -> int:
    """On a connection of its own, as another process."""
    try:
        return act(bank)
    finally:
        connection.close()


def wait_until_blocked() -> None:
    """Until another connection to this database waits for a lock; a test that has nobody wait gives up."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(query)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    pytest.fail("Nobody waits for a lock.")
