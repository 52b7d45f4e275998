"""A chat's better title reaches the page that is open, in a real browser: heading, list of chats and tab."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.test_memory_and_layout import chromium, logged_in
from tests.projects.chat.test_titles_from_the_model import BEGINNING, QUESTION, model, served
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import site, wait_until
from tests.support.requirements import only_in_ci

__all__ = ["chromium", "model"]

pytestmark = [only_in_ci, pytest.mark.own_servers]

BETTER = "Provider for card payments"


def test_an_open_page_takes_the_title_that_the_model_wrote(
    tmp_path: Path, model: OpenAIServer, chromium: Browser
) -> None:
    with site(tmp_path, SWEEP_SECONDS="86400", DEBUG="true") as made:
        bob, chat = served(made, model)
        page = logged_in(chromium, bob.base, "bob", "a pass phrase")
        page.goto(chat)
        assert QUESTION not in page.title()
        page.get_by_role("textbox", name="Message").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator("#turns")).to_contain_text("Paywright")
        wait_until(lambda: made.ask("SELECT title FROM memorybank_chat") == [(BETTER,)], "a title", made)
        expect(page.locator("#title")).to_have_text(BETTER)
        expect(page.locator("#chats [aria-current] bdi")).to_have_text(BETTER)
        expect(page).to_have_title(re.compile(f"^{BETTER} · "))
        assert BEGINNING not in page.content()
        page.context.close()
