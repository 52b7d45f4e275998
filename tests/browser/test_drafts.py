"""What is written and not sent, or sent and not answered, in a real browser: nothing is lost, nothing is doubled."""

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_chat import HEBREW, ROPES, Served, answered, at_once, opened, questions, seeded_site, served
from tests.browser.test_memory_and_layout import chromium, hindrances, log_in
from tests.support.requirements import only_in_ci

__all__ = ["at_once", "chromium", "seeded_site", "served"]  # fixtures, found by their names

pytestmark = [only_in_ci, pytest.mark.own_servers]


def test_what_is_not_sent_yet_outlives_a_reload_another_page_and_a_session(chromium: Browser, served: Served) -> None:
    with chromium.new_context(base_url=served.base) as context:
        page = log_in(context, "bob")
        page.goto(ROPES)
        box, problem = page.get_by_role("textbox", name="Message"), page.locator("#problem")
        low = box.evaluate("box => box.offsetHeight")
        box.fill("A thought\n" * 9)
        assert box.evaluate("box => box.offsetHeight") > low
        page.reload()
        expect(box).to_have_value("A thought\n" * 9)
        page.goto(HEBREW)
        expect(box).to_have_value("")
        page.go_back()
        expect(box).to_have_value("A thought\n" * 9)
        box.fill("x" * 100_123)
        page.get_by_role("button", name="Send", exact=True).click()
        expect(problem).to_contain_text("Too long by 123 characters.")
        box.fill("Which paint?")
        context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(problem).to_contain_text("You have been signed out.")
        assert hindrances(page) == []
        problem.get_by_role("link", name="Sign in").click()
        page.fill("#id_username", "bob")
        page.fill("#id_password", "demo")
        page.click("main button")
        page.wait_for_url(f"**{ROPES}")
        expect(box).to_have_value("Which paint?")
        before = len(questions(answered(page)))
        box.press("Enter")
        expect(page.locator("#turns .mine .text")).to_have_count(before + 1)  # another test may have asked the same
        assert questions(page)[-1] == "Which paint?"
        page.reload()
        expect(box).to_have_value("")
        box.fill("A secret")
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("#id_password")).to_be_visible()
        assert page.evaluate("Object.keys(localStorage)") == []


def test_an_edit_that_is_not_sent_outlives_a_reload_and_says_when_it_is_too_long(
    chromium: Browser, served: Served
) -> None:
    page = opened(chromium, served, ROPES)
    page.locator("a.edit").first.click()
    box = page.get_by_role("textbox", name="New text")
    stored = box.input_value()
    box.fill("How many ropes, and")
    page.reload()
    expect(box).to_have_value("How many ropes, and")
    box.fill("x" * 100_005)
    problem = page.locator("form.editing .too-long")
    expect(problem).to_contain_text("Too long by 5 characters.")
    assert hindrances(page) == []
    page.locator("form.editing button").click()
    expect(box).to_be_focused()
    box.fill("And?")
    expect(problem).to_have_count(0)
    page.locator("form.editing .cancel").click()
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage)") == []
    page.locator("a.edit").first.click()
    expect(box).to_have_value(stored)
    page.context.close()


def test_without_scripts_a_message_outlives_the_session(chromium: Browser, served: Served) -> None:
    with chromium.new_context(base_url=served.base, java_script_enabled=False) as context:
        page = log_in(context, "bob")
        page.goto(ROPES)
        page.get_by_role("textbox", name="Message").fill("\nWhich\n  paint?")
        context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("What you wrote is kept.")
        for password in ("wrong", "demo"):
            page.fill("#id_username", "bob")
            page.fill("#id_password", password)
            page.click("main button")
        expect(page.get_by_role("textbox", name="Message")).to_have_value("\nWhich\n  paint?")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator("#turns .mine .text").last).to_contain_text("paint?")


def on_post(page: Page, *acts: str) -> list[Route]:
    """Do this with each message that is sent: ``record`` it on the site, ``abort`` its request. The requests."""
    routes: list[Route] = []

    def handle(route: Route) -> None:
        if route.request.method != "POST":
            return route.fallback()
        routes.append(route)
        if "record" in acts:
            route.fetch()
        if "abort" in acts:
            route.abort()
        return None

    page.route("**/chats/*/", handle)
    return routes


def test_a_message_that_the_site_has_leaves_the_box_though_its_answer_was_lost(
    chromium: Browser, served: Served
) -> None:
    page = opened(chromium, served, ROPES)
    box, mine = page.get_by_role("textbox", name="Message"), page.locator("#turns .mine .text")
    on_post(page, "record", "abort")
    for number, again in enumerate(("by itself", "after a reload")):
        before = len(questions(answered(page)))
        box.fill(f"Which anchor, number {number}?")
        box.press("Enter")
        expect(page.locator("#problem")).to_contain_text("The connection broke.")
        if again == "after a reload":
            page.reload()
        expect(mine).to_have_count(before + 1)
        assert questions(page)[-1] == f"Which anchor, number {number}?"
        expect(box).to_have_value("")
    page.reload()
    expect(box).to_have_value("")
    page.context.close()


def test_a_message_that_is_being_sent_outlives_a_reload_and_is_there_once(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    box, mine = page.get_by_role("textbox", name="Message"), page.locator("#turns .mine .text")
    before = len(questions(page))
    with page.expect_request(lambda request: request.method == "POST"):
        on_post(page)
        box.fill("Which winch?")
        box.press("Enter")
    box.press_sequentially("And why?")
    page.reload()
    expect(box).to_have_value("Which winch?\nAnd why?")
    assert len(questions(page)) == before
    box.fill("Which winch?")
    page.unroute_all()
    on_post(page, "record", "abort")  # the site has it now, and the page does not know
    box.press("Enter")
    expect(page.locator("#problem")).to_contain_text("The connection broke.")
    page.unroute_all()
    if box.input_value():  # the page has not looked yet
        box.press("Enter")
    expect(box).to_have_value("")
    page.reload()
    expect(mine).to_have_count(before + 1)
    page.context.close()


def test_what_is_written_again_and_not_sent_outlives_a_reload(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    box, mine = page.get_by_role("textbox", name="Message"), page.locator("#turns .mine .text")
    before = len(questions(page))
    box.fill("Yes.")
    box.press("Enter")
    expect(mine).to_have_count(before + 1)
    box.fill("Yes.")
    page.reload()
    expect(box).to_have_value("Yes.")
    page.context.close()


def test_a_message_sent_before_the_page_is_complete_does_not_come_back(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    box, before = page.get_by_role("textbox", name="Message"), len(questions(page))
    box.fill("Which shackle?")
    scripts: list[Route] = []
    page.route("**/copy.js", lambda route: scripts.append(route))  # the last script of the page
    page.goto(ROPES, wait_until="commit")
    expect(box).to_have_value("Which shackle?")
    posts = on_post(page)
    with page.expect_request(lambda request: request.method == "POST"):
        box.press("Enter")
    scripts[0].continue_()
    page.wait_for_load_state("load")
    posts[0].continue_()
    expect(page.locator("#turns .mine .text")).to_have_count(before + 1)
    expect(box).to_have_value("")
    page.context.close()


def test_two_pages_of_a_chat_take_no_draft_from_each_other(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    box, mine = page.get_by_role("textbox", name="Message"), page.locator("#turns .mine .text")
    box.fill("Call the")
    other = page.context.new_page()
    other.goto(ROPES)
    others_box, others_mine = other.get_by_role("textbox", name="Message"), other.locator("#turns .mine .text")
    expect(others_box).to_have_value("Call the")
    before = len(questions(page))
    box.fill("Call the supplier.")
    box.press("Enter")
    expect(others_mine).to_have_count(before + 1)
    expect(others_box).to_have_value("")
    others_box.fill("What is written here")
    answered(page)
    box.fill("Which buoy?")
    box.press("Enter")
    expect(mine).to_have_count(before + 2)
    box.fill("What is written there")
    expect(others_mine).to_have_count(before + 2)
    expect(others_box).to_have_value("What is written here")
    page.reload()
    expect(box).to_have_value("What is written there")
    page.context.close()
