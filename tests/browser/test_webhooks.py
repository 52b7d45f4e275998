"""An owner adds, tests, pauses and deletes a webhook, and downloads an export. Also without scripts."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_memory_and_layout import LOOKS, PROJECT, chromium, demo, hindrances, logged_in
from tests.projects.webhooks.test_webhooks import Receiver, receiver
from tests.support.own_site import Site, wait_until
from tests.support.requirements import only_in_ci

__all__ = ["chromium", "demo"]  # fixtures, found by their names

pytestmark = [only_in_ci, pytest.mark.own_servers]


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without"])
def test_a_webhook_is_added_tested_paused_resumed_and_deleted(demo: Site, chromium: Browser, script: bool) -> None:
    look = {**LOOKS["phone, dark"], "java_script_enabled": script}
    page = logged_in(chromium, demo.env["ADDRESS"], "priya", **look)
    with receiver() as program:
        adds_one(page, program)
        assert not script or hindrances(page) == []
        sends_a_test(page, program, demo)
        press(page, "Pause", program)
        expect(page.get_by_text("Paused: nothing is sent.")).to_be_visible()
        expect(page.get_by_role("button", name="Send a test")).to_have_count(0)
        assert not script or hindrances(page) == []
        press(page, "Resume", program)
        sends_a_test(page, program, demo)
        press(page, "Delete", program)
    expect(page.get_by_text("The webhook is deleted.")).to_be_visible()
    expect(page.get_by_text(program.address)).to_have_count(0)
    page.context.close()


def adds_one(page: Page, program: Receiver) -> None:
    """Add it, after an address that is refused; its secret is shown once."""
    page.goto(f"{PROJECT}settings/webhooks")
    page.get_by_label("Address").fill("nowhere")
    page.get_by_role("button", name="Add webhook").click()
    expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Address").fill(program.address)
    expect(page.get_by_label("Something was deleted from memory")).to_be_checked()
    page.get_by_role("button", name="Add webhook").click()
    expect(page.get_by_label("The new secret")).to_contain_text("whsec_")
    page.goto(page.url)
    expect(page.get_by_label("The new secret")).to_have_count(0)


def sends_a_test(page: Page, program: Receiver, demo: Site) -> None:
    """Send a test message, and read on the page that it arrived."""

    def tests() -> int:
        return sum(event["type"] == "test" for event in program.events())  # the demo's memory is at work, too

    before = tests()
    press(page, "Send a test", program)
    wait_until(lambda: tests() > before, "received", demo)
    page.reload()
    expect(page.get_by_text("delivered (204)").first).to_be_visible()


def press(page: Page, name: str, program: Receiver) -> None:
    page.get_by_role("button", name=f"{name} {program.address}").click()


def test_an_export_is_downloaded_and_leaves_the_chats_of_others_out(demo: Site, chromium: Browser) -> None:
    page = logged_in(chromium, demo.env["ADDRESS"], "priya", java_script_enabled=False)
    page.goto(f"{PROJECT}settings/import")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the export").click()
    assert download.value.suggested_filename == "northwind-clinics-billing-migration.jsonl"
    rows = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert {"bank", "chat", "output", "entry", "fact"} == {row["type"] for row in rows}
    own, others = chats_of(demo, "u.username = 'priya'"), chats_of(demo, "u.username != 'priya'")
    exported = {row["chat"] for row in rows if row["type"] == "chat"}
    assert own and others and exported == own
    page.context.close()


def chats_of(demo: Site, owner: str) -> set[str]:
    """The keys of the project's chats of some owners."""
    rows = demo.ask(
        "SELECT c.key FROM memorybank_chat c JOIN projects_conversation o ON o.chat_id = c.id"
        " JOIN auth_user u ON u.id = o.owner_id JOIN projects_project p ON p.bank_id = c.bank_id"
        f" WHERE p.slug = 'billing-migration' AND {owner}"
    )
    return {key for [key] in rows}
