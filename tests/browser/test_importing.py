"""An owner imports an account's chats: the file, what it would do, how far it is, the chats. Also without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_memory_and_layout import PROJECT, chromium, demo, hindrances, logged_in
from tests.projects.importing.test_exports import FOLDER, fixture, zipped
from tests.support.commands import ELEMENT_TIMEOUT_SECONDS
from tests.support.own_site import Site, wait_until
from tests.support.requirements import only_in_ci

__all__ = ["chromium", "demo"]  # fixtures, found by their names

pytestmark = [only_in_ci, pytest.mark.own_servers]


def choose(page: Page, name: str, content: bytes, *, script: bool) -> None:
    """Upload an export, and read what it would do."""
    page.goto(f"{PROJECT}settings/import")
    page.set_input_files("#id_file", {"name": name, "mimeType": "application/zip", "buffer": content})
    if not script:  # which sends the file as soon as it is chosen
        page.get_by_role("button", name="Read the file").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without"])
def test_an_export_is_imported_while_the_page_says_how_far_it_is(demo: Site, chromium: Browser, script: bool) -> None:
    page = logged_in(chromium, demo.env["ADDRESS"], "priya", java_script_enabled=script)
    if script:
        choose(page, "claude.zip", zipped(conversations__json=fixture("claude")).getvalue(), script=script)
    else:
        choose(page, "librechat.json", (FOLDER / "librechat.json").read_bytes(), script=script)
    assert not script or hindrances(page) == []
    with page.expect_navigation():  # a reload in the middle of it would fail
        page.get_by_role("button", name="Import", exact=True).click()
    done = page.get_by_text("Imported: 4 new questions" if script else "Imported: 2 new questions")
    if script:
        expect(done).to_be_visible(timeout=ELEMENT_TIMEOUT_SECONDS * 1000)
        assert hindrances(page) == []
    else:
        wait_until(lambda: bool(page.reload()) and done.is_visible(), "the import", demo)
    page.get_by_role("link", name="Database choice" if script else "Supplier call").click()
    expect(page.get_by_text("Noted, PostgreSQL 16." if script else "Mondays, noted.").first).to_be_visible()
    page.context.close()
