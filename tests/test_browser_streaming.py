"""Answers that arrive piece by piece, in a real browser: stopped, reloaded, in two tabs, cut off, without a script."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from .commands import PATIENCE
from .openai_server import OpenAIServer
from .own_site import Site, kill, site
from .projects.test_lost_answers import PEOPLE, free_port, serve
from .projects.test_lost_answers import Browser as Reader
from .requirements import needs_chromium
from .test_browser import browser

pytestmark = pytest.mark.own_servers

WORDS = ["# Plan", "\n\nFirst ", "**second** ", "third ", "fourth ", "fifth."]
QUESTION = "What comes first?"


class Dictated(OpenAIServer):
    """Says one more word whenever it is told to."""

    def __init__(self) -> None:
        super().__init__(keep=1000)
        self.answer = lambda messages: "".join(WORDS)
        self._told = threading.Semaphore(0)

    def before_piece(self) -> None:
        while not self.stopping.is_set() and not self._told.acquire(timeout=0.1):
            pass

    def say(self, pieces: int) -> None:
        """As many more; an answer begins with one that is empty and ends with another."""
        self._told.release(pieces)


@pytest.fixture
def model() -> Iterator[Dictated]:
    with Dictated() as made:
        yield made


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """With Bob, who has a chat of his own at ``env["CHAT"]``."""
    with site(tmp_path, LLM_MAX_RETRIES="0", DEBUG="true") as made:
        people = made.manage("shell", "--verbosity", "0", "-c", PEOPLE)
        assert people.code == 0, people.err
        made.env["CHAT"] = f"/p/acme/apollo/chats/{people.out.split()[-1]}/"
        yield made


@pytest.fixture
def chromium() -> Iterator[Browser]:
    needs_chromium()
    with browser() as made:
        yield made


@pytest.fixture
def page(own_site: Site, model: Dictated, chromium: Browser) -> Page:
    """Bob's chat, served, with a model that waits to be told."""
    return opened(own_site, model, chromium)


def opened(own_site: Site, model: Dictated, chromium: Browser, *, script: bool = True) -> Page:
    reader = Reader(f"http://127.0.0.1:{free_port()}")
    serve(own_site, reader, model)
    context = chromium.new_context(base_url=reader.base, java_script_enabled=script)
    context.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    made = context.new_page()
    made.goto("/login/")
    made.fill("#id_username", "bob")
    made.fill("#id_password", "a pass phrase")
    made.click("main button")
    made.wait_for_url("/")
    made.goto(own_site.env["CHAT"])
    return made


def ask(page: Page) -> None:
    """As people do: write, Enter."""
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.keyboard.press("Enter")


def shows(page: Page, *words: str, over: bool = False) -> None:
    """That the last answer is just this, and still being written or not."""
    answer = page.locator("#turns .theirs .text").last
    said = "".join(words).replace("#", "").replace("*", "").split()
    expect(answer).to_have_text(re.compile(r"^\s*" + r"\s*".join(map(re.escape, said)) + r"\s*$"))
    expect(page.locator(".writing")).to_have_count(0 if over else 1)


def test_an_answer_grows_in_every_tab_and_a_reload_neither_loses_nor_repeats(page: Page, model: Dictated) -> None:
    ask(page)
    model.say(4)
    shows(page, *WORDS[:2])
    expect(page.locator("#turns .theirs .heading")).to_have_text("Plan")
    other = page.context.new_page()
    other.goto(page.url)
    shows(other, *WORDS[:2])
    model.say(1)
    page.reload()
    for each in (page, other):
        shows(each, *WORDS[:3])
    expect(page.locator("#turns .theirs strong")).to_have_text("second")
    model.say(4)
    for each in (page, other):
        shows(each, *WORDS, over=True)
        expect(each.locator("#turns .turn")).to_have_count(1)
        expect(each).to_have_title(f"{QUESTION} · Apollo")
    assert model.calls == 1


def test_what_came_before_it_was_stopped_is_the_answer(page: Page, model: Dictated, own_site: Site) -> None:
    ask(page)
    model.say(4)
    shows(page, *WORDS[:2])
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#turns").get_by_text("You stopped this answer.")).to_be_visible()
    shows(page, *WORDS[:2], "…", over=True)
    assert own_site.ask("SELECT status, answer FROM memorybank_output") == [("ok", "# Plan\n\nFirst …")]
    assert own_site.ask("SELECT count(*) FROM projects_draft") == [(0,)]


def test_what_is_stopped_before_it_begins_may_be_asked_again(page: Page, model: Dictated) -> None:
    ask(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#turns").get_by_text("Stopped before it was answered.")).to_be_visible()
    model.say(20)
    page.get_by_role("button", name="Try again").click()
    shows(page, *WORDS, over=True)
    expect(page.locator("#turns .turn")).to_have_count(1)


@pytest.mark.parametrize("mode", ["break-off", "mid-error"])
def test_a_model_that_fails_in_mid_answer_leaves_the_message(page: Page, model: Dictated, mode: str) -> None:
    model.mode = mode
    model.say(20)
    ask(page)
    expect(page.locator("#turns").get_by_text("Your message is kept")).to_be_visible()
    expect(page.locator("#turns .theirs")).to_have_count(0)
    model.mode = "ok"
    page.get_by_role("button", name="Try again").click()
    shows(page, *WORDS, over=True)


def test_kill_9_in_mid_answer_leaves_the_message_and_the_page_says_so(
    page: Page, model: Dictated, own_site: Site
) -> None:
    ask(page)
    model.say(4)
    shows(page, *WORDS[:2])
    kill(own_site.processes[-1])
    own_site.tell("UPDATE projects_draft SET saved_at = '2026-01-01 00:00:00'")  # as time does
    serve(own_site, Reader(page.url.partition("/p/")[0]), model)
    expect(page.locator("#turns").get_by_text("No answer arrived.")).to_be_visible()  # nobody reloaded
    model.say(20)
    page.get_by_role("button", name="Try again").click()
    shows(page, *WORDS, over=True)
    assert own_site.ask("SELECT status FROM memorybank_output") == [("ok",)]


def test_without_a_script_the_page_comes_with_the_answer(own_site: Site, model: Dictated, chromium: Browser) -> None:
    page = opened(own_site, model, chromium, script=False)
    model.say(20)
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.get_by_role("button", name="Send").click()
    shows(page, *WORDS, over=True)
