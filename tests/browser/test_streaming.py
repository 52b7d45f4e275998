"""Answers that come piece by piece, in a real browser: edited, stopped, reloaded, in two tabs, cut off, scriptless."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_memory_and_layout import chromium, hindrances, logged_in
from tests.projects.chat.test_lost_answers import PEOPLE, free_port, serve
from tests.projects.chat.test_lost_answers import Browser as Reader
from tests.support.dictated_model import ALL, WORDS, Dictated
from tests.support.own_site import Site, kill, site
from tests.support.requirements import needs_chromium, only_in_ci

__all__ = ["chromium"]

pytestmark = pytest.mark.own_servers

QUESTION = "What comes first?"


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With Bob, served at ``env["BASE"]``."""
    needs_chromium()
    base = f"http://127.0.0.1:{free_port()}"
    with site(tmp_path_factory.mktemp("streams"), LLM_MAX_RETRIES="0", DEBUG="true", BASE=base) as made:
        people = made.call("shell", "--verbosity", "0", "-c", PEOPLE)
        assert people.code == 0, people.err
        yield made


@pytest.fixture(scope="module")
def dictated(own_site: Site) -> Iterator[Dictated]:
    with Dictated() as made:
        serve(own_site, Reader(own_site.env["BASE"]), made)
        yield made


@pytest.fixture
def model(dictated: Dictated) -> Dictated:
    """It waits to be told."""
    dictated.begin()
    return dictated


@pytest.fixture
def page(own_site: Site, model: Dictated, chromium: Browser) -> Iterator[Page]:
    """A new chat of Bob's."""
    made = opened(own_site, chromium)
    yield made
    made.context.close()


def opened(own_site: Site, chromium: Browser, *, script: bool = True) -> Page:
    made = logged_in(chromium, own_site.env["BASE"], "bob", "a pass phrase", java_script_enabled=script)
    made.goto("/p/acme/apollo/")
    made.get_by_role("button", name="New chat").click()
    made.wait_for_url("**/chats/**")
    return made


def stored(own_site: Site, page: Page, what: str) -> list[tuple[str, ...]]:
    """Of each turn of the chat."""
    key = page.url.partition("/chats/")[2].partition("/")[0]
    return own_site.ask(
        f"SELECT {what} FROM memorybank_output o JOIN memorybank_chat c ON c.id = o.chat_id WHERE c.key = '{key}'"
        " ORDER BY o.id"
    )


def ask(page: Page) -> None:
    """As people do: write, Enter."""
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.keyboard.press("Enter")


def shows(page: Page, *words: str, over: bool = False) -> None:
    """That the last answer is just this, and still being written or not."""
    answer = page.locator("#turns .theirs .text:visible").last
    text = "".join(words).replace("#", "").replace("*", "").split()
    expect(answer).to_have_text(re.compile(r"^\s*" + r"\s*".join(map(re.escape, text)) + r"\s*$"))
    expect(page.locator(".writing")).to_have_count(0 if over else 1)


def test_an_answer_grows_in_every_tab_and_a_reload_neither_loses_nor_repeats(page: Page, model: Dictated) -> None:
    calls = model.calls
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()  # of a chat without a turn
    ask(page)
    expect(page).to_have_title(f"{QUESTION} · Apollo")  # before there is an answer
    model.say(4)
    shows(page, *WORDS[:2])
    expect(page.locator("#turns .theirs .heading")).to_have_text("Plan")
    other = page.context.new_page()
    other.goto(page.url)
    shows(other, *WORDS[:2])
    model.say(1)
    page.reload()
    for item in (page, other):
        shows(item, *WORDS[:3])
    expect(page.locator("#turns .theirs strong")).to_have_text("second")
    model.say(4)
    for item in (page, other):
        shows(item, *WORDS, over=True)
        expect(item.locator("#turns .turn")).to_have_count(1)
        expect(item).to_have_title(f"{QUESTION} · Apollo")
        expect(item.locator("#chats [aria-current] bdi")).to_have_text(QUESTION)
    assert model.calls == calls + 1


@only_in_ci
def test_what_came_before_it_was_stopped_is_the_answer(page: Page, model: Dictated, own_site: Site) -> None:
    ask(page)
    model.say(4)
    shows(page, *WORDS[:2])
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#turns").get_by_text("You stopped this answer.")).to_be_visible()
    shows(page, *WORDS[:2], "…", over=True)
    assert stored(own_site, page, "status, answer") == [("ok", "# Plan\n\nFirst …")]
    assert own_site.ask("SELECT count(*) FROM projects_draft") == [(0,)]


@only_in_ci
def test_send_is_stop_while_an_answer_comes_and_a_second_tab_follows(page: Page, model: Dictated) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    send = page.locator("#composer button")
    expect(send).to_have_text("Send")
    ask(page)
    model.say(4)
    shows(page, *WORDS[:2])
    expect(send).to_have_text("Stop")
    shows(other, *WORDS[:2])  # which was not loaded again
    page.get_by_role("textbox", name="Message").fill("And then?")
    page.keyboard.press("Enter")  # is no way to stop it
    expect(send).to_have_text("Stop")
    assert hindrances(page) == []
    send.click()
    for item in (page, other):
        shows(item, *WORDS[:2], "…", over=True)
        expect(item.locator("#composer button")).to_have_text("Send")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("And then?")
    state = other.locator("#memory-state")
    expect(state).to_have_text(re.compile("^will be remembered at .*:"))
    page.get_by_role("button", name="Make private").click()
    expect(state).to_have_text(re.compile("^Private: "))


@only_in_ci
def test_what_is_stopped_before_it_begins_may_be_asked_again(page: Page, model: Dictated) -> None:
    ask(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#turns").get_by_text("Stopped before it was answered.")).to_be_visible()
    model.say(ALL)
    page.get_by_role("button", name="Try again").click()
    shows(page, *WORDS, over=True)
    expect(page.locator("#turns .turn")).to_have_count(1)


@only_in_ci
def test_a_model_that_fails_in_mid_answer_leaves_the_message(page: Page, model: Dictated) -> None:
    model.mode = "break-off"
    model.say(ALL)
    ask(page)
    expect(page.locator("#turns").get_by_text("Your message is saved")).to_be_visible()
    expect(page.locator("#turns").get_by_text("The answer broke off here.")).to_be_visible()
    page.reload()
    shown = page.locator("#turns .broken .text").inner_text()
    assert shown
    model.mode = "ok"
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#turns .theirs .text")).to_contain_text("fifth.")
    expect(page.locator("#turns .broken")).to_have_count(0)
    expect(page.locator("#turns .theirs .text")).to_contain_text(shown.splitlines()[0])


def answered_twice(page: Page, model: Dictated) -> None:
    """A chat of two turns."""
    model.say(2 * ALL)
    for turns in (1, 2):
        ask(page)
        expect(page.locator("#turns .turn")).to_have_count(turns)
        shows(page, *WORDS, over=True)
    expect(page.get_by_role("button", name="Re-ask as a new message")).to_have_count(
        1
    )  # no link is renewed under a click
    model.begin()


def edit(page: Page, message: str) -> None:
    """The first message."""
    page.get_by_role("link", name="Edit").first.click()
    page.get_by_role("textbox", name="New text").fill(message)
    page.locator("form.editing").get_by_role("button", name="Save and send").click()


@only_in_ci
def test_an_edited_message_is_answered_piece_by_piece_in_the_place_of_what_followed(
    page: Page, model: Dictated, own_site: Site
) -> None:
    answered_twice(page, model)
    turns = page.locator("#turns .turn:visible .mine .text")
    edit(page, "What comes last?")
    model.say(4)
    shows(page, *WORDS[:2])
    expect(turns).to_have_text(["What comes last?"])
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    assert len(stored(own_site, page, "o.id")) == 3  # what gives way is there until there is something in its place
    page.reload()
    shows(page, *WORDS[:2])
    expect(turns).to_have_text(["What comes last?"])
    model.say(ALL)
    shows(page, *WORDS, over=True)
    assert stored(own_site, page, "question, set_aside")[2:] == [("What comes last?", 0)]
    model.begin()
    page.get_by_role("button", name="Regenerate").click()
    model.say(3)
    shows(page, *WORDS[:1])
    page.get_by_role("button", name="Stop").click()
    shows(page, *WORDS[:1], " …", over=True)
    expect(page.locator("#turns .turn")).to_have_count(1)
    expect(page.locator(".versions")).to_have_text(re.compile("Version 3 of 3"))
    page.get_by_role("link", name="Look at the version before").click()
    expect(page.get_by_text("You are looking at version 2. This chat and memory use version 3.")).to_be_visible()
    assert "version=" not in page.url  # the page stays where it is
    page.get_by_role("link", name="Look at the version before").click()
    expect(page.get_by_text("You are looking at version 1. This chat and memory use version 3.")).to_be_visible()
    page.get_by_role("button", name="Use this version").click()
    expect(turns).to_have_text([QUESTION, QUESTION])
    assert hindrances(page) == []


@only_in_ci
def test_nothing_gives_way_to_an_answer_that_fails_or_does_not_begin(
    page: Page, model: Dictated, own_site: Site
) -> None:
    answered_twice(page, model)
    turns = page.locator("#turns .turn:visible")
    model.mode = "mid-error"
    edit(page, "What comes last?")
    expect(turns).to_have_count(1)
    model.say(ALL)
    expect(turns).to_have_count(3)
    expect(turns.last).to_contain_text("Your message is saved")
    expect(turns.last).to_contain_text("Once answered, this replaces 2 messages above.")
    model.begin()
    page.get_by_role("button", name="Try again").click()
    expect(turns).to_have_count(1)
    page.get_by_role("button", name="Stop").click()
    expect(turns).to_have_count(3)
    expect(turns.last).to_contain_text("Stopped before it was answered.")
    expect(page.get_by_role("button", name="Try again")).to_be_focused()
    assert stored(own_site, page, "status") == [("ok",), ("ok",), ("stopped",)]


@only_in_ci
def test_kill_9_in_mid_answer_leaves_the_message_and_what_it_was_to_replace(
    page: Page, model: Dictated, own_site: Site
) -> None:
    answered_twice(page, model)
    edit(page, "What comes last?")
    model.say(4)
    shows(page, *WORDS[:2])
    kill(own_site.processes[-1])
    own_site.tell("UPDATE projects_draft SET saved_at = '2026-01-01 00:00:00'")  # as time does
    model.begin()
    serve(own_site, Reader(own_site.env["BASE"]), model)
    expect(page.locator("#turns").get_by_text("No answer arrived.")).to_be_visible()  # nobody reloaded
    expect(page.locator("#turns .turn:visible")).to_have_count(3)
    model.say(ALL)
    page.get_by_role("button", name="Try again").click()
    shows(page, *WORDS, over=True)
    expect(page.locator("#turns .turn")).to_have_count(1)
    assert stored(own_site, page, "question, status, set_aside")[2:] == [("What comes last?", "ok", 0)]


def test_without_a_script_the_page_comes_with_the_answer(own_site: Site, model: Dictated, chromium: Browser) -> None:
    page = opened(own_site, chromium, script=False)
    model.say(ALL)
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.get_by_role("button", name="Send").click()
    shows(page, *WORDS, over=True)
    page.context.close()
