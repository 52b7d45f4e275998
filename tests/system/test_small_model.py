"""A real small model, through the doors that people and programs use: what arrives, what is remembered, what is told.

Opt-in: `make test-llm`. Nothing here rests on what a small model says, but for that it says something.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI
from playwright.sync_api import Page, expect

from tests.browser.test_memory_and_layout import browser, log_in
from tests.projects.chat.test_lost_answers import PEOPLE, free_port
from tests.projects.chat.test_lost_answers import Browser as Reader
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.own_site import Site, site, wait_until
from tests.support.requirements import needs_small_model
from tests.support.small_model import CONTEXT, NAME, SmallModel, small_model

from .test_workers import stale, waiting

pytestmark = pytest.mark.own_servers

MESSAGE = "We decided that the ledger moves to PostgreSQL 16 on 9 June 2026. Tell me at length how to prepare for that."
QUESTION = "Which database does the ledger get?"
REMEMBERED_ENGINE = "PostgreSQL 16"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallModel]:
    """Starting it takes seconds."""
    with small_model(needs_small_model(), tmp_path_factory.mktemp("model")) as made:
        yield made


@pytest.fixture
def own_site(tmp_path: Path, model: SmallModel) -> Iterator[Site]:
    """As `serve` runs it, at ``env["ADDRESS"]``; Bob has a chat at ``env["CHAT"]``."""
    upstream = {"LLM_BASE_URL": model.base_url, "LLM_MODEL": NAME, "LLM_CONTEXT_TOKENS": str(CONTEXT)}
    patient = {"LLM_TIMEOUT": str(PROCESS_TIMEOUT_SECONDS), "LLM_MAX_RETRIES": "0", "SWEEP_SECONDS": "1"}
    address = f"127.0.0.1:{free_port()}"
    with site(tmp_path, DEBUG="true", ADDRESS=f"http://{address}", **upstream, **patient) as made:
        people = made.manage("shell", "--verbosity", "0", "-c", PEOPLE)
        assert people.code == 0, people.err
        made.env["CHAT"] = f"/p/acme/apollo/chats/{people.out.split()[-1]}/"
        made.start("manage.py", "serve", "--address", address)
        wait_until(Reader(made.env["ADDRESS"]).is_up, "up", made)
        yield made


@pytest.fixture
def page(own_site: Site) -> Iterator[Page]:
    """Bob's chat."""
    with browser() as chromium:
        context = chromium.new_context(base_url=own_site.env["ADDRESS"])
        made = log_in(context, "bob", "a pass phrase")
        expect.set_options(timeout=PROCESS_TIMEOUT_SECONDS * 1000)
        made.goto(own_site.env["CHAT"])
        yield made


def say(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def letters(page: Page) -> str:
    """Of the last answer as it is shown; how its words are set may change while it grows."""
    return "".join(re.findall(r"\w", page.locator("#turns .theirs .text").last.inner_text()))


def grows_on(page: Page, model: SmallModel) -> None:
    """The answer that waits in its middle comes to its end, and what was there of it stays."""
    begun = letters(page)
    model.flows.set()
    expect(page.locator(".writing")).to_have_count(0)
    assert letters(page).startswith(begun) and len(letters(page)) > len(begun) > 0


def falls_idle(own_site: Site) -> None:
    """As time does; until the worker has made memory of what was said, and prompts get it."""
    assert waiting(own_site)
    own_site.tell("UPDATE memorybank_chat SET due_at = '2026-01-01 00:00:00' WHERE due_at IS NOT NULL")
    wait_until(lambda: not waiting(own_site) and not stale(own_site), "remembered", own_site)
    assert (NAME, "ok") in own_site.ask("SELECT model, outcome FROM memorybank_llmcall WHERE purpose = 'summary'")
    assert own_site.manage("check_memory").code == 0, "each line cites what was said, and claims no more"


def test_a_chat_is_written_stopped_and_remembered_and_the_next_is_told(
    page: Page, model: SmallModel, own_site: Site
) -> None:
    before = len(model.asked)
    model.flows.clear()
    say(page, MESSAGE)
    expect(page.locator(".writing .text")).to_have_text(re.compile(r"\w"))
    page.reload()
    expect(page.locator(".writing .text")).to_have_text(re.compile(r"\w"))
    grows_on(page, model)
    assert (len(model.asked) - before, page.locator("#turns .turn").count()) == (1, 1)

    model.flows.clear()
    say(page, "Go on, please.")
    expect(page.locator(".writing .text")).to_have_text(re.compile(r"\w"))
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#turns").get_by_text("You stopped this answer.")).to_be_visible()
    model.flows.set()

    falls_idle(own_site)
    page.goto("/p/acme/apollo/")
    page.get_by_role("button", name="New chat").click()
    block = page.locator("#block").text_content()
    assert block
    say(page, QUESTION)
    expect(page.locator(".writing")).to_have_count(0)
    expect(page.locator("#turns .theirs .text")).to_have_count(1)
    assert block.strip() in model.last_prompt() and REMEMBERED_ENGINE in model.last_prompt()


def test_a_program_that_changed_an_address_and_a_key_is_told_what_another_chat_said(
    own_site: Site, model: SmallModel
) -> None:
    key = own_site.manage("create_api_key", "acme/apollo", "--name", "desk", "--scopes", "read,write", "--json").json
    client = OpenAI(base_url=f"{own_site.env['ADDRESS']}/v1", api_key=key["key"], max_retries=0)
    request = [{"role": "user", "content": MESSAGE}]
    stream = client.chat.completions.create(model=NAME, messages=request, stream=True)  # type: ignore[call-overload]
    pieces = [chunk.choices[0].delta.content for chunk in stream if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) >= 2
    [(question, answer, status)] = own_site.ask("SELECT question, answer, status FROM memorybank_output")
    assert (question, answer, status) == (MESSAGE, "".join(pieces), "ok")

    falls_idle(own_site)
    messages = [{"role": "user", "content": QUESTION}]
    made = client.chat.completions.create(model=NAME, messages=messages)  # type: ignore[call-overload]
    client.close()
    assert made.choices[0].message.content
    assert REMEMBERED_ENGINE in model.last_prompt()
    assert own_site.ask("SELECT count(DISTINCT chat_id) FROM memorybank_output") == [(2,)]
