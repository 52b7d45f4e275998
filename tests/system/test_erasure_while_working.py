"""A worker that was at a chat's words when they were erased, in processes of their own: nothing of them is anywhere."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, site, wait_until
from tests.support.requirements import in_ci, needs_postgres, only_in_ci

CANARIES = ("quokkaberry", "7731904", "zelda.quokka@example.org")
SECRET = f"The {CANARIES[0]} contract was signed for {CANARIES[1]} euro; ask {CANARIES[2]} about the annexes."
OTHER_MESSAGE = "The night ferry to Lisbon sails from pier nine every Tuesday."
THIRD_MESSAGE = "The oak warehouse is to be painted signal orange before spring."


@pytest.fixture(params=["SQLite", pytest.param("PostgreSQL", marks=in_ci)])
def own_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    postgres = needs_postgres() if request.param == "PostgreSQL" else ""
    with site(tmp_path, postgres=postgres) as made:
        yield made


class Thinking(OpenAIServer):
    """Answers nobody who shows it a canary before it may ``go_on``."""

    def __init__(self) -> None:
        super().__init__(keep=100)
        self.reads = threading.Event()
        self.go_on = threading.Event()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        if CANARIES[0] in json.dumps(body):
            self.reads.set()
            assert self.go_on.wait(PROCESS_TIMEOUT_SECONDS)


def turns() -> str:
    """A chat of two people, and another, as lines to import."""
    day = datetime.now(UTC) - timedelta(days=1)
    turns = [("shared", "Omar", OTHER_MESSAGE), ("shared", "Zelda", SECRET), ("other", "Omar", THIRD_MESSAGE)]
    where = {"tenant": "acme", "project": "apollo", "answer": "Noted.", "created_at": day.isoformat()}
    return "\n".join(json.dumps({**where, "chat": chat, "user": who, "question": text}) for chat, who, text in turns)


def everything(own_site: Site) -> str:
    """All rows of all tables, indexes that are tables among them, what the processes said, and what others are told."""
    names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    if not own_site.database_url:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    rows = [str(own_site.ask(f'SELECT * FROM "{name}"')) for (name,) in own_site.ask(names)]
    queued = [path for path in own_site.data.glob("broker*/**/*") if path.is_file()]
    files = [path.read_bytes().decode("utf-8", "replace") for path in queued]
    result = own_site.call("show_memory", "acme/apollo", "--question", f"{CANARIES[0]} contract")
    return "\n".join([*rows, *files, result.out, own_site.call("export_memory", "acme/apollo").out, own_site.output()])


@only_in_ci
@pytest.mark.own_servers
def test_a_worker_that_reads_what_is_erased_meanwhile_brings_nothing_back(own_site: Site) -> None:
    assert own_site.call("import_chats", "-", "--enable", stdin=turns()).code == 0
    with Thinking() as model:
        own_site.env |= {
            "LLM_BASE_URL": model.base_url,
            "LLM_MODEL": "thinking",
            "LLM_TIMEOUT": str(PROCESS_TIMEOUT_SECONDS),
        }
        worker = own_site.start("manage.py", "run_memory", "--until-idle")
        wait_until(model.reads.is_set, "asked about the canary", own_site)
        assert CANARIES[0] in str(own_site.ask("SELECT question FROM memorybank_output"))
        receipt = own_site.call("forget_memory", "acme/apollo", "--author", "Zelda", "--json")
        assert (receipt.code, receipt.json["turns"]) == (0, 1), receipt
        model.go_on.set()
        assert worker.wait(timeout=PROCESS_TIMEOUT_SECONDS) == 0, own_site.output()
        assert own_site.call("import_chats", "-", stdin=turns()).code == 0
        assert own_site.call("run_memory", "--until-idle").code == 0
    left = everything(own_site)
    assert [canary for canary in CANARIES if canary in left] == []
    assert "Lisbon" in left and "warehouse" in left and "Zelda" not in receipt.out
    assert own_site.call("check_memory").code == 0
    result = own_site.call("show_memory", "acme/apollo", "--question", "When does the ferry to Lisbon sail?")
    assert "Lisbon" in result.out
