"""The whole way of a member in German, in a real browser: the language is switched once and stays."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.test_memory_and_layout import PROJECT, chromium, demo_site
from tests.site.test_translations import english_in
from tests.support.commands import ELEMENT_TIMEOUT_SECONDS
from tests.support.own_site import Site
from tests.support.requirements import only_in_ci

__all__ = ["chromium"]  # a fixture, found by its name

pytestmark = [only_in_ci, pytest.mark.own_servers]
#: The placeholders that are longer than their field.
CUT_PLACEHOLDERS = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  return [...document.querySelectorAll("[placeholder]")].filter((field) => {
    const style = getComputedStyle(field);
    canvas.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return field.offsetWidth && canvas.measureText(field.placeholder).width > room;
  }).map((field) => field.placeholder);
}"""
VISITED_PATHS = ("/", PROJECT, f"{PROJECT}chats/bm-001/", f"{PROJECT}memory/", f"{PROJECT}memory/timeline", "/admin/")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with demo_site(tmp_path_factory.mktemp("demo"), with_worker=False) as made:
        yield made


def visited(context: BrowserContext) -> Iterator[tuple[str, Page]]:
    """Each page on the way, from the login on."""
    context.set_default_timeout(ELEMENT_TIMEOUT_SECONDS * 1000)
    page = context.new_page()
    page.goto("/login/")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Anmelden")).to_be_visible()
    yield "/login/", page
    page.fill("#id_username", "priya")
    page.fill("#id_password", "demo")
    page.click("main button")
    page.wait_for_url("/")
    for path in VISITED_PATHS:
        page.goto(path)
        expect(page.locator("html")).to_have_attribute("lang", "de")
        yield path, page


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without"])
def test_who_switches_to_german_is_told_everything_in_german(
    demo: Site,
    chromium: Browser,
    subtests: pytest.Subtests,
    script: bool,
) -> None:
    context = chromium.new_context(base_url=demo.env["ADDRESS"], locale="en-GB", java_script_enabled=script)
    for path, page in visited(context):
        with subtests.test(path=path):
            assert english_in(page.content()) == []
    context.close()


def test_on_a_phone_no_placeholder_is_cut_in_german(demo: Site, chromium: Browser, subtests: pytest.Subtests) -> None:
    context = chromium.new_context(base_url=demo.env["ADDRESS"], viewport={"width": 360, "height": 800})
    for path, page in visited(context):
        with subtests.test(path=path):
            assert page.evaluate(CUT_PLACEHOLDERS) == []
    context.close()
