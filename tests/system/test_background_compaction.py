"""``/compact`` on a running site: no request is held, the work goes on beside it, and it outlives a killed server."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from tests.projects.chat.test_lost_answers import PEOPLE, free_port, serve
from tests.projects.chat.test_lost_answers import Browser as Reader
from tests.support import long_chats
from tests.support.cast import JSON
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import only_in_ci

pytestmark = [only_in_ci, pytest.mark.own_servers]

TALK = """
from memorybank import services
from memorybank.models import Chat
from tests.support import long_chats
chat = Chat.objects.get()
services.record_many(chat.bank, long_chats.turns(6_000, chat=chat.key, author="bob"))
"""
#: Whoever was killed holds the chat no longer.
A_MINUTE_LATER = "UPDATE memorybank_compaction SET leased_until = '2020-01-01 00:00:00'"


class Held(OpenAIServer):
    """Answers nobody until ``gate`` is open; ``asked`` once somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = long_chats.model
        self.gate, self.asked = threading.Event(), threading.Event()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        self.asked.set()
        self.gate.wait(PROCESS_TIMEOUT_SECONDS)


class Script(Reader):
    """What the page's script asks of the chat at ``path``."""

    path = ""

    def ask(self, page: str, message: str) -> tuple[int, dict[str, Any]]:
        """Send a message; status and JSON."""
        match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert match
        headers = {**JSON, "Content-Type": "application/json", "X-CSRFToken": match[1]}
        sent = Request(f"{self.base}{self.path}", json.dumps({"message": message}).encode(), headers)
        try:
            with self._open(sent, timeout=PROCESS_TIMEOUT_SECONDS) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as error:
            return error.code, json.loads(error.read())

    def look(self) -> dict[str, Any]:
        """How far it is."""
        data: dict[str, Any] = json.loads(self.get(f"{self.path}compaction"))
        return data

    def is_over(self) -> bool:
        return self.look()["percent"] is None


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, LLM_MAX_RETRIES="0") as made:
        yield made


@pytest.fixture
def reader(own_site: Site) -> Script:
    """Bob, who has a long chat; no server answers yet."""
    set_up = own_site.call("shell", "--verbosity", "0", "-c", PEOPLE)
    assert set_up.code == 0, set_up.err
    talked = own_site.call("shell", "--verbosity", "0", "-c", TALK)
    assert talked.code == 0, talked.err
    reader = Script(f"http://127.0.0.1:{free_port()}")
    reader.path = f"/p/acme/apollo/chats/{set_up.out.split()[-1]}/"
    return reader


def opened(reader: Script) -> str:
    """Bob's long chat, on its page."""
    reader.post("/login/", reader.get("/login/"), username="bob", password="a pass phrase")
    return reader.get(reader.path)


def test_it_holds_no_request_keeps_what_is_said_meanwhile_and_outlives_the_server(
    own_site: Site, reader: Script
) -> None:
    with Held() as model:
        web = serve(own_site, reader, model)
        page = opened(reader)
        status, answer = reader.ask(page, "/compact the ports")
        assert (status, answer["compaction"]["percent"]) == (202, 0)
        wait_until(model.asked.is_set, "asked", own_site)
        status, answer = reader.ask(page, "/compact")
        assert (status, answer) == (409, {"error": "The chat is being shortened already, 10 % done."})

        kill(web)
        model.gate.set()
        assert own_site.ask("SELECT count(*) FROM memorybank_checkpoint") == [(0,)]
        model.gate.clear()
        model.asked.clear()
        web = serve(own_site, reader, model)
        assert reader.look()["stage"] == "planning"  # as far as anybody knows
        own_site.tell(A_MINUTE_LATER)
        assert reader.look()["percent"] == 0  # resumed
        wait_until(model.asked.is_set, "asked again", own_site)
        assert "What matters most to the person now\nthe ports" in model.requests[-1]["messages"][0]["content"]

        messages: list[tuple[int, dict[str, Any]]] = []
        asking = threading.Thread(target=lambda: messages.append(reader.ask(page, "Which script moves invoices?")))
        asking.start()
        wait_until(lambda: own_site.ask("SELECT 1 FROM memorybank_output WHERE status = 'pending'"), "kept", own_site)
        model.gate.set()
        wait_until(reader.is_over, "over", own_site)
        asking.join()
    made = reader.look()["checkpoint"]
    assert "ERR_SLOT_4711" in made["text"]
    [(status, reply)] = messages
    assert (status, reply["checkpoint"]["text"]) == (200, made["text"])
    assert long_chats.PLANTED[3][1] in reply["answer"]
    assert own_site.ask("SELECT focus, awaited, leased_until FROM memorybank_compaction") == [("", False, None)]


def test_one_that_kills_its_process_is_resumed_once(own_site: Site, reader: Script) -> None:
    with Held() as model:
        web = serve(own_site, reader, model)
        assert reader.ask(opened(reader), "/compact")[0] == 202
        for percent in (0, None):
            wait_until(model.asked.is_set, "asked", own_site)
            model.asked.clear()
            kill(web)  # or its heartbeat would renew the lease
            own_site.tell(A_MINUTE_LATER)
            web = serve(own_site, reader, model)
            answer = reader.look()
            assert answer["percent"] == percent
        assert answer["problem"] == "It was interrupted. The chat is unchanged."
        model.gate.set()
    assert own_site.ask("SELECT count(*) FROM memorybank_checkpoint") == [(0,)]
