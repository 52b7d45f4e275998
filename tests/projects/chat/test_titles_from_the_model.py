"""A chat's title becomes better by itself after the first answer: through the web server, the broker and a worker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.projects.chat.test_lost_answers import PEOPLE, Browser, free_port
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, site, wait_until
from tests.support.requirements import in_ci

pytestmark = pytest.mark.own_servers

QUESTION = "Hello! Could you please tell me which provider we chose for card payments, and why?"
BEGINNING = "Hello! Could you please tell me which provider we chose for card payments, and…"
TITLES = "SELECT title FROM memorybank_chat ORDER BY id"
CALLS = "SELECT purpose, outcome FROM memorybank_llmcall ORDER BY id"


def answer(messages: list[dict[str, Any]]) -> str:
    asked_for_title = "a chat its title" in messages[0]["content"]
    return "- title: Provider for card payments" if asked_for_title else "Paywright, for its fees."


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as made:
        made.answer = answer
        yield made


def ask(made: Site, model: OpenAIServer, question: str, **env: str) -> None:
    """Serve the site, and ask in a new chat."""
    bob, chat = served(made, model, **env)
    assert "Paywright" in bob.post(chat, bob.get(chat), message=question)


def served(made: Site, model: OpenAIServer, **env: str) -> tuple[Browser, str]:
    """Serve the site; return a browser in which Bob is logged in, and the path of his new chat."""
    set_up = made.call("shell", "--verbosity", "0", "-c", PEOPLE)
    assert set_up.code == 0, set_up.err
    bob = Browser(f"http://127.0.0.1:{free_port()}")
    address = bob.base.rpartition("/")[2]
    made.start("manage.py", "serve", "--address", address, LLM_BASE_URL=model.base_url, **env)
    wait_until(bob.is_up, "up", made)
    bob.post("/login/", bob.get("/login/"), username="bob", password="a pass phrase")
    return bob, f"/p/acme/apollo/chats/{set_up.out.split()[-1]}/"


def test_a_worker_has_it_written_after_the_first_answer(tmp_path: Path, model: OpenAIServer) -> None:
    with site(tmp_path, SWEEP_SECONDS="86400", DEBUG="true") as made:
        ask(made, model, QUESTION)
        wait_until(lambda: made.ask(TITLES) == [("Provider for card payments",)], "a title", made)
        assert made.ask(CALLS) == [("chat", "ok"), ("title", "ok")]


@in_ci
@pytest.mark.parametrize(
    ("question", "env"), [(QUESTION, {"CHAT_TITLES": "false"}), ("Who is our contact?", {})], ids=["off", "short"]
)
def test_the_model_is_not_asked_when_it_is_off_or_the_message_is_short(
    tmp_path: Path, model: OpenAIServer, question: str, env: dict[str, str]
) -> None:
    with site(tmp_path, SWEEP_SECONDS="1", DEBUG="true") as made:
        ask(made, model, question, **env)
        wait_until(lambda: made.ask("SELECT count(*) FROM memorybank_sweep") == [(1,)], "a sweep, which is later", made)
        assert made.ask(CALLS) == [("chat", "ok")]
        assert made.ask(TITLES) == [(BEGINNING if env else question,)]
