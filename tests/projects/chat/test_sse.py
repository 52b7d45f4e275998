"""Answers as a page's script hears them, from the site as `manage.py serve` runs it: reconnected, deleted, ended."""

import json
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.request import Request

import pytest

from tests.support.cast import JSON
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.dictated_model import ALL, WORDS, Dictated
from tests.support.own_site import Site, site, wait_until
from tests.support.requirements import only_in_ci

from .test_lost_answers import PEOPLE, Browser, free_port, serve

pytestmark = pytest.mark.own_servers


class StreamReader(Browser):
    """Bob, with a script: sends messages and hears what comes."""

    chat = ""

    def log_in(self) -> None:
        self.post("/login/", self.get("/login/"), username="bob", password="a pass phrase")

    def begin(self) -> None:
        """A new chat."""
        made = self.post("/p/acme/apollo/chats/", self.get("/p/acme/apollo/"))
        match = re.search(r'id="composer"[^>]* action="([^"]+)"', made)
        assert match
        self.chat = match[1]

    def ask(self) -> str:
        """Where the answer to one more message is streamed."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(self.chat))
        assert token
        headers = {**JSON, "Content-Type": "application/json", "X-CSRFToken": token[1], "Prefer": "respond-async"}
        body = json.dumps({"message": "What comes first?"}).encode()
        with self._open(Request(f"{self.base}{self.chat}", body, headers), timeout=PROCESS_TIMEOUT_SECONDS) as answer:
            match = re.search(r'data-stream="([^"]+)"', json.loads(answer.read())["turn"])
        assert match
        return match[1]

    @contextmanager
    def hear(self, path: str, last: str = "") -> Iterator[Iterator[tuple[str, str, Any]]]:
        """Name, id and data of each event."""
        headers = {"Last-Event-ID": last} if last else {}
        with closing(self._open(Request(self.base + path, headers=headers), timeout=PROCESS_TIMEOUT_SECONDS)) as stream:
            yield _events(stream)


def _events(stream: Any) -> Iterator[tuple[str, str, Any]]:
    event: dict[str, str] = {}
    for line in stream:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            event[name] = value
        elif "event" in event:
            yield event["event"], event.get("id", ""), json.loads(event["data"])
            event = {}


def grown(shown: list[str], data: dict[str, Any]) -> list[str]:
    """The elements of an answer on a page, as its script changes them."""
    fresh = re.findall(r"<(\w+)[^>]*>(.*?)</\1>", data["html"], flags=re.S)
    return [*shown[: data["from"]], *(re.sub(r"<.*?>", "", text).strip() for _, text in fresh)]


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("http"), LLM_MAX_RETRIES="0", SECRET_KEY="x" * 50, SWEEP_SECONDS="1") as made:
        assert made.call("shell", "--verbosity", "0", "-c", PEOPLE).code == 0
        yield made


@pytest.fixture(scope="module")
def dictated() -> Iterator[Dictated]:
    with Dictated() as made:
        yield made


@pytest.fixture(scope="module")
def bob(own_site: Site, dictated: Dictated) -> StreamReader:
    """Bob, at a web server without the site's other processes."""
    reader = StreamReader(f"http://127.0.0.1:{free_port()}")
    serve(own_site, reader, dictated)
    reader.log_in()
    return reader


@pytest.fixture
def model(dictated: Dictated) -> Dictated:
    dictated.begin()
    return dictated


def served(own_site: Site, model: Dictated) -> StreamReader:
    """Bob, at a site that has just been started."""
    reader = StreamReader(f"http://127.0.0.1:{free_port()}")
    own_site.start("manage.py", "serve", "--address", reader.base.rpartition("/")[2], LLM_BASE_URL=model.base_url)
    wait_until(reader.is_up, "up", own_site)
    reader.log_in()
    return reader


def heard_until(events: Iterator[tuple[str, str, Any]], word: str, shown: list[str]) -> tuple[list[str], str]:
    """What is on the page when the word has come, and the id of the event that brought it."""
    for name, number, data in events:
        assert name == "text"
        shown = grown(shown, data)
        if word in " ".join(shown):
            return shown, number
    pytest.fail(f"It ended without {word}.")


def test_who_reconnects_loses_nothing_and_hears_nothing_twice(
    bob: StreamReader, model: Dictated, own_site: Site
) -> None:
    bob.begin()
    path = bob.ask()
    model.say(4)
    with bob.hear(path) as events:
        shown, number = heard_until(events, "First", [])
    assert int(number) == len("".join(WORDS[:2]).strip())
    with bob.hear(path, number) as events:
        model.say(1)
        shown, number = heard_until(events, "second", shown)  # the first that comes is new
    assert shown == ["Plan", "First second"]
    with bob.hear(path, "no number") as events:
        assert heard_until(events, "second", []) == (shown, number)
    with bob.hear(path, number) as events:
        model.say(2)
        shown, number = heard_until(events, "fourth", shown)
        model.say(ALL)
    assert shown == ["Plan", "First second third fourth"]
    wait_until(lambda: own_site.ask("SELECT count(*) FROM projects_draft") == [(0,)], "over", own_site)
    with bob.hear(path, number) as events:  # it has come meanwhile
        [(name, _, data)] = events
    assert (name, "fifth" in data["turn"], data["title"]) == ("end", True, "What comes first?")


def test_a_chat_that_is_deleted_in_mid_answer_is_gone(bob: StreamReader, model: Dictated, own_site: Site) -> None:
    bob.begin()
    path = bob.ask()
    model.say(4)
    with bob.hear(path) as events:
        heard_until(events, "First", [])
        bob.post(f"{bob.chat}delete", bob.get(bob.chat), sure="yes")
        name, _, data = next(events)
    assert (name, data) == ("end", {"turn": "", "title": ""})
    model.say(ALL)
    key = bob.chat.rstrip("/").rpartition("/")[2]
    assert own_site.ask(f"SELECT count(*) FROM memorybank_chat WHERE key = '{key}'") == [(0,)]
    assert own_site.ask("SELECT count(*) FROM projects_draft") == [(0,)]


@only_in_ci
def test_told_to_end_it_lets_what_it_is_at_end_first(own_site: Site, model: Dictated) -> None:
    bob = served(own_site, model)
    bob.begin()
    path = bob.ask()
    model.say(4)
    with bob.hear(path) as events:
        heard_until(events, "First", [])
        own_site.processes[-1].terminate()
        wait_until(lambda: not bob.is_up(), "closed to others", own_site)
        model.say(ALL)
        *_, (name, _, data) = events
    assert (name, "fifth" in data["turn"]) == ("end", True)
    assert own_site.processes[-1].wait(PROCESS_TIMEOUT_SECONDS) == 0
    assert "fifth" in own_site.ask("SELECT answer FROM memorybank_output ORDER BY id")[-1][0]
    assert own_site.ask("SELECT count(*) FROM projects_draft") == [(0,)]
    assert own_site.ask("SELECT count(*) FROM memorybank_chat WHERE leased_until IS NOT NULL") == [(0,)]
