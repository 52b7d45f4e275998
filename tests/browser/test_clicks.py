"""What a person often does takes at most three clicks from where they are, with its confirmation."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.test_memory_and_layout import LOOKS, PROJECT, chromium, demo_site, logged_in
from tests.support.own_site import Site
from tests.support.requirements import only_in_ci

__all__ = ["chromium"]  # a fixture, found by its name

pytestmark = [only_in_ci, pytest.mark.own_servers]
MAX_CLICKS = 3


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with demo_site(tmp_path_factory.mktemp("demo"), with_worker=False) as made:
        yield made


class Mouse:
    """Counts its clicks."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without"])
@pytest.mark.parametrize("look", LOOKS)
def test_a_long_chat_is_made_private_and_shared_again(demo: Site, chromium: Browser, look: str, script: bool) -> None:
    page = logged_in(chromium, demo.env["ADDRESS"], "priya", java_script_enabled=script, **LOOKS[look])
    page.goto(f"{PROJECT}chats/bm-001/")
    mouse, private = Mouse(), page.get_by_role("button", name="Make private")
    mouse.click(private)
    expect(page.get_by_text("This would leave everybody else’s memory")).to_be_visible()
    assert page.locator("ul.lines > li").count() > 0
    mouse.click(private)
    expect(page.get_by_text("Others are no longer told what this chat says.")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Undo")).to_be_in_viewport()
    mouse.click(page.get_by_role("button", name="Undo"))
    expect(page.get_by_text("Remembered for: Everyone in the project")).to_be_visible()
    assert mouse.clicks <= MAX_CLICKS
    page.context.close()


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without"])
@pytest.mark.parametrize("look", LOOKS)
def test_the_memory_budget_is_made_smaller(demo: Site, chromium: Browser, look: str, script: bool) -> None:
    page = logged_in(chromium, demo.env["ADDRESS"], "priya", java_script_enabled=script, **LOOKS[look])
    page.goto(PROJECT)
    mouse = Mouse()
    mouse.click(page.get_by_role("link", name="Settings", exact=True))
    budget = page.get_by_label("Memory budget, in tokens")
    smaller = str(int(budget.input_value()) * 3 // 4)
    budget.fill(smaller)
    mouse.click(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("Nothing is saved yet.")).to_be_in_viewport()
    mouse.click(page.get_by_role("button", name="Save the smaller budget"))
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(budget).to_have_value(smaller)
    assert mouse.clicks <= MAX_CLICKS
    page.context.close()
