"""The Python package against a served site: records, gives memory, recalls and forgets, waiting and awaited."""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from memory_bank_client import AsyncMemoryBank, MemoryBank, MemoryBankError, Output

from tests.support.commands import ROOT
from tests.support.gateway_site import Gateway

pytestmark = pytest.mark.own_servers

ASKED_AT = datetime(2026, 3, 2, 10, tzinfo=UTC)
ADMIN_KEY = """
from django.utils import timezone
from projects.models import Project, Scope
from projects.tenancy import api_keys
project = Project.objects.get(tenant__slug="acme", slug="apollo")
print(api_keys.issue(project, "client", Scope.values, actor="setup", now=timezone.now())[1])
"""


@pytest.fixture(scope="module")
def key(site_of_module: Gateway) -> str:
    return site_of_module.site.call("shell", "--verbosity", "0", "-c", ADMIN_KEY).out.strip()


def turn(chat: str, text: str, **more: Any) -> Output:
    return Output(chat, "ann", text, "Noted.", created_at=ASKED_AT, **more)


def test_it_records_gives_memory_recalls_and_forgets(served: Gateway, key: str) -> None:
    with MemoryBank(served.address, key) as bank:
        text = "We chose Postgres 16 for billing on 2 March 2026."
        labels = {"ticket": "T-1"}
        first = bank.record(
            chat="c-1", author="ann", question=text, answer="Noted.", id="m-1", metadata=labels, created_at=ASKED_AT
        )
        again = bank.record(chat="c-1", author="ann", question=text, id="m-1")
        assert (first.recorded, again.id) == (True, first.id)
        assert [item.recorded for item in bank.record_many([turn("c-2", f"Note {n}.", id=f"n-{n}") for n in range(3)])]
        assert bank.summarise()["kind"] == "summarise"
        served.summarise()
        memory = bank.memory("Which Postgres does billing run on?", chat="c-9")
        assert "Postgres 16" in memory.block.text + memory.recalled.text
        hits = bank.recall("Postgres", filter={"author": "ann", "metadata": labels})
        assert {hit.chat for hit in hits} == {"c-1"}
        assert bank.recall("Postgres", threshold=999) == []
        assert any("Postgres" in fact.text for fact in bank.facts(author="ann", from_="2026-01-01"))
        assert bank.add_fact("Invoices go out on Fridays.", kind="decision").kind == "decision"
        assert bank.forget(author="ann", dry_run=True).id is None
        assert bank.forget(chat="c-1").counts["turns"] == 1
        assert list(bank.outputs(chat="c-1")) == []


def test_lists_go_on_page_by_page(served: Gateway, key: str) -> None:
    with MemoryBank(served.address, key) as bank:
        bank.record_many([turn(f"p-{n}", f"Page {n}.") for n in range(5)])
        keys = [chat["key"] for chat in bank.chats(limit=2) if chat["key"].startswith("p-")]
        assert sorted(keys) == [f"p-{n}" for n in range(5)]


def test_the_asynchronous_client_records_gives_memory_and_recalls(served: Gateway, key: str) -> None:
    async def use() -> None:
        async with AsyncMemoryBank(served.address, key) as bank:
            assert (await bank.record(chat="a-1", author="ben", question="Awaited.")).recorded
            assert (await bank.memory("Awaited?", chat="a-2")).version >= 0
            assert isinstance(await bank.recall("Awaited"), list)
            assert [item["question"] async for item in bank.outputs(author="ben")] == ["Awaited."]
            assert (await bank.forget(author="ben")).counts["turns"] == 1

    asyncio.run(use())


def test_what_is_refused_says_which_field(served: Gateway, key: str) -> None:
    with MemoryBank(served.address, key) as bank:
        with pytest.raises(MemoryBankError) as refused:
            bank.record(chat=" ", author="ann", question="?")
        assert (refused.value.status, refused.value.errors[0]["pointer"]) == (422, "/chat")
    with MemoryBank(served.address, "mb_wrong") as bank, pytest.raises(MemoryBankError, match="401"):
        bank.memory("?")


def test_an_address_where_nobody_answers_raises_after_its_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_bank_client.client.PAUSES", (0.0, 0.0))
    with MemoryBank("http://127.0.0.1:9", "mb_x") as bank, pytest.raises(httpx.ConnectError):
        bank.memory("?")


def test_the_examples_of_its_page_run(served: Gateway, key: str) -> None:
    page = Path(ROOT / "clients/python/README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.S)
    given: dict[str, Any] = {}
    exec(example.replace("https://memory.example.com", served.address).replace("mb_…", key), given)
    assert given["memory"].version >= 0
    given["bank"].close()
