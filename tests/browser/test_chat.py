"""A chat in a real browser: messages edited and answered anew, memory used, the list of chats; also on a phone."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_memory_and_layout import LOOKS, chromium, hindrances, logged_in, tab_to
from tests.projects.chat.test_lost_answers import Browser as Reader
from tests.projects.chat.test_lost_answers import free_port, serve
from tests.support import long_chats
from tests.support.own_site import Site, site
from tests.support.requirements import only_in_ci
from tests.system.test_background_compaction import Held

__all__ = ["chromium"]  # a fixture, found by its name

pytestmark = pytest.mark.own_servers

#: A project with memory of what Ann said, and two chats of Bob's: one of three turns, and one in Hebrew.
SEED_PROGRAM = """
from django.contrib.auth.models import User
from memorybank import services
from memorybank.models import Chat
from projects.models import Conversation, Membership, Project, Tenant
from tests.support import long_chats
tenant = Tenant.objects.create(slug="acme", name="Acme")
bob = User.objects.create_user("bob", password="demo")
Membership.objects.create(tenant=tenant, user=bob)
bank = Project.objects.open(tenant, "apollo", "Apollo").bank
services.enable(bank, actor="bob", disclosure_accepted=True)
said = [
    ("hers", "ann", "The harbour crane will be painted signal orange before spring.", ""),
    ("ropes", "bob", "Which ropes does the crane need?", "The harbour ropes"),
    ("ropes", "bob", "And how many of them?", ""),
    ("ropes", "bob", "Who pays for all that?", ""),
    ("keys", "bob", "The spare keys are in the blue box.", "Keys"),
    ("hebrew", "bob", "הפגישה הבאה ביום שלישי!", "הפגישה הבאה ביום שלישי!"),
]
for key, author, question, title in said:
    services.record(bank, chat_key=key, author=author, question=question, answer="Noted.", title=title)
    if author == "bob":
        Conversation.objects.get_or_create(chat=Chat.objects.get(key=key), owner=bob)
services.summarise_now(bank, chat_key="hers")
services.summarise_now(bank, chat_key="keys")
services.record_many(bank, long_chats.turns(6_000, chat="long", author="bob"))
Conversation.objects.create(chat=Chat.objects.get(key="long"), owner=bob)
"""
ROPES = "/p/acme/apollo/chats/ropes/"
HEBREW = "/p/acme/apollo/chats/hebrew/"
KEYS_CHAT_PATH = "/p/acme/apollo/chats/keys/"
LONG_CHAT_PATH = "/p/acme/apollo/chats/long/"


@dataclass
class Served:
    """A site that answers."""

    base: str
    model: Held


@pytest.fixture(scope="module")
def seeded_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The data, made once."""
    with site(tmp_path_factory.mktemp("chat"), DEBUG="true", LLM_MAX_RETRIES="0", LLM_MODEL="harbour") as made:
        done = made.call("shell", "--verbosity", "0", "-c", SEED_PROGRAM)
        assert done.code == 0, done.err
        yield made


@pytest.fixture(scope="module")
def served(seeded_site: Site) -> Iterator[Served]:
    """With a model."""
    with Held() as model:
        address = f"http://127.0.0.1:{free_port()}"
        serve(seeded_site, Reader(address), model)
        yield Served(address, model)


@pytest.fixture(autouse=True)
def at_once(served: Served) -> None:
    """The model says how often it was asked."""
    served.model.gate.set()
    served.model.answer = lambda messages: f"Answer number {served.model.calls}: **hall 9**."


def opened(chromium: Browser, served: Served, path: str, look: str = "desk", *, script: bool = True) -> Page:
    """A page that Bob looks at."""
    page = logged_in(chromium, served.base, "bob", java_script_enabled=script, **LOOKS[look])
    page.goto(path)
    return answered(page) if script else page


def answered(page: Page) -> Page:
    """The page once no answer is being written in its chat, as one of another test may be: until then none is sent."""
    expect(page.locator("#turns [data-stream]")).to_have_count(0)
    return page


def questions(page: Page) -> list[str]:
    return page.locator("#turns .mine .text").all_inner_texts()


def test_a_message_is_edited_where_it_stands_by_keyboard_alone(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    before = questions(page)
    tab_to(page, ".turn:nth-of-type(2) a.edit")
    page.keyboard.press("Enter")
    box = page.get_by_role("textbox", name="New text")
    expect(box).to_be_focused()
    later = "1 later message." if len(before) == 3 else f"{len(before) - 2} later messages."  # by tests that ran before
    expect(page.get_by_text(f"This replaces the message, its answer, and {later}")).to_be_visible()
    assert hindrances(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".turn:nth-of-type(2) a.edit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_be_focused()
    box.press("Control+A")
    page.keyboard.type("And how long are they?")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#turns .theirs").last).to_contain_text("hall 9")
    expect(page.locator("#turns .mine .text")).to_have_text([before[0], "And how long are they?"])
    page.context.close()


@only_in_ci
def test_another_answer_takes_the_place_of_the_one_before(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    before, answer = questions(page), page.locator("#turns .theirs").last.inner_text()
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator("#turns .theirs").last).not_to_have_text(answer)
    expect(page.locator("#turns .theirs").last).to_contain_text("Answer number")
    expect(page.locator("#turns .mine .text")).to_have_text(before)
    page.context.close()


@only_in_ci
def test_the_memory_of_an_answer_is_shown_where_it_stands(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, HEBREW)
    page.get_by_role("textbox", name="Message").fill("Which colour has the crane?")
    page.get_by_role("button", name="Send", exact=True).click()
    link = page.get_by_role("link", name="Memory used").last  # it comes with the answer, without the page being loaded
    link.click()
    used = page.get_by_role("region", name="Memory used")
    expect(used).to_contain_text("signal orange")
    assert hindrances(page) == []
    link.click()
    expect(used).to_have_count(0)
    page.context.close()


@only_in_ci
def test_an_answer_is_copied_as_it_was_written_and_that_is_said(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("textbox", name="Message").fill("Where is it?")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#spoken")).to_contain_text("hall 9")  # the whole answer is read out, as "Copied" will be
    page.locator("#turns .turn").last.get_by_role("link", name="Copy answer").press("Enter")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    assert str(page.evaluate("navigator.clipboard.readText()")).endswith("**hall 9**.")
    page.context.close()
    page = opened(chromium, served, ROPES, script=False)
    page.get_by_role("link", name="Copy answer").last.click()
    expect(page.locator("body")).to_contain_text("**hall 9**.")
    page.context.close()


@only_in_ci
def test_help_shows_keys_and_commands_and_is_no_message(chromium: Browser, served: Served) -> None:
    for script in (True, False):
        page = opened(chromium, served, ROPES, script=script)
        before = questions(page)
        expect(page.get_by_text("begins a new line.")).to_be_hidden()
        page.get_by_role("textbox", name="Message").fill("/help")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_text("begins a new line.")).to_be_visible()
        assert questions(page) == before
        if script:
            expect(page.locator("#help summary")).to_be_focused()
            assert hindrances(page) == []
        page.context.close()


@only_in_ci
def test_the_box_grows_from_one_line_to_ten(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, ROPES)
    box, heights = page.get_by_role("textbox", name="Message"), []
    for lines in (1, 2, 10, 30):
        box.fill("\n".join("x" * lines))
        heights.append(box.evaluate("box => box.clientHeight"))
    line = heights[1] - heights[0]
    assert line > 0
    assert [round((height - heights[0]) / line) for height in heights] == [0, 1, 9, 9]
    box.fill("")
    page.context.close()


@only_in_ci
def test_the_number_of_a_source_leads_to_its_line_by_keyboard_and_without_a_script(
    chromium: Browser, served: Served
) -> None:
    served.model.answer = lambda messages: "It becomes **signal orange**, before spring."
    page = opened(chromium, served, KEYS_CHAT_PATH)
    page.get_by_role("textbox", name="Message").fill("Which paint does the crane get?")
    page.get_by_role("button", name="Send", exact=True).click()
    source = page.get_by_role("link", name="Source [1]").last
    source.focus()
    page.keyboard.press("Enter")
    line = page.get_by_role("region", name="Memory used").get_by_role("listitem").first
    expect(line).to_be_focused()
    expect(line).to_contain_text("[1] ann The harbour crane will be painted signal orange before spring.")
    assert hindrances(page) == []
    page.context.close()
    page = opened(chromium, served, KEYS_CHAT_PATH, "phone, dark", script=False)
    page.get_by_role("link", name="Source [1]").last.click()
    expect(page.locator("li:target")).to_contain_text("signal orange")
    page.context.close()


@pytest.mark.parametrize("locale", ["en", "de"])
def test_an_empty_composer_leaves_a_phone_s_screen_to_the_chat(chromium: Browser, served: Served, locale: str) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "locale": locale}
    page = logged_in(chromium, served.base, "bob", **phone)
    page.goto(ROPES)
    composer, box = page.locator("#composer"), page.locator("#composer textarea")
    assert composer.evaluate("one => one.offsetHeight") <= 130
    assert composer.locator("button").evaluate("one => one.offsetHeight") >= 24
    assert hindrances(page) == []
    empty = box.evaluate("one => one.offsetHeight")
    box.fill("Which ropes?\n" * 6)
    assert box.evaluate("one => one.offsetHeight") > 2 * empty
    page.context.close()


def test_a_phone_opens_the_list_of_chats_and_searches_it_without_a_script(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, HEBREW, "phone, dark", script=False)
    chats = page.get_by_role("navigation", name="Your chats")
    expect(chats).to_be_hidden()
    page.get_by_role("button", name="Chats", exact=True).click()
    expect(chats.locator("[aria-current]")).to_contain_text("הפגישה")
    chats.get_by_role("searchbox").fill("harbour")
    chats.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Chats", exact=True).click()
    expect(chats.get_by_role("listitem")).to_have_count(1)
    chats.get_by_role("link", name="The harbour ropes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The harbour ropes")
    page.get_by_role("link", name="Edit").first.click()
    expect(page.get_by_role("textbox", name="New text")).to_have_value("Which ropes does the crane need?")
    page.context.close()


@only_in_ci
def test_a_member_makes_a_chat_private_hides_a_line_and_takes_both_back(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, KEYS_CHAT_PATH, "phone, dark")
    expect(page.get_by_text("Remembered for: Everyone in the project")).to_be_visible()
    page.get_by_role("button", name="Make private").click()
    expect(page.get_by_text("This would leave everybody else’s memory")).to_be_visible()
    expect(page.locator(".lines")).to_contain_text("blue box")
    assert hindrances(page) == []
    page.get_by_role("button", name="Make private").click()
    expect(page.get_by_text("Remembered for: Only me")).to_be_visible()
    assert hindrances(page) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: the chat is remembered for the same people as before.")).to_be_in_viewport()
    expect(page.get_by_text("Remembered for: Everyone in the project")).to_be_visible()

    page.goto("/p/acme/apollo/memory/facts")
    page.get_by_role("link", name="This is wrong “The spare keys").click()
    expect(page.get_by_text("Nothing has been deleted yet")).to_be_visible()
    assert hindrances(page) == []
    page.get_by_role("button", name="Hide only this").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Shown again.")).to_be_visible()
    page.goto("/p/acme/apollo/memory/facts")
    page.get_by_role("link", name="This is wrong “The spare keys").click()
    for undone in (True, False):
        page.get_by_label("Right words").fill("The spare keys are in the red box.")
        page.get_by_role("button", name="Save correction").click()
        expect(page.locator("blockquote")).to_contain_text("The spare keys are in the red box.")
        if undone:
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_text("The original words are back.")).to_be_visible()
            expect(page.locator("blockquote")).to_contain_text("blue box")
    assert hindrances(page) == []
    page.get_by_role("link", name="Back").click()
    expect(page.locator("ul.facts")).to_contain_text("red box")
    page.context.close()


def test_a_member_says_that_a_line_of_others_is_wrong(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, "/p/acme/apollo/memory/", "phone, dark")
    line = page.locator("ul.lines > li", has_text="signal orange")
    line.locator("summary").click()
    assert hindrances(page) == []
    line.get_by_role("textbox", name="What is right instead? (or why it is wrong)").fill("It stays blue.")
    line.get_by_role("button", name="Send to the owners").click()
    expect(page.get_by_text("Sent to the owners and admins")).to_be_in_viewport()
    expect(line).to_contain_text("you reported this as wrong")
    assert hindrances(page) == []
    page.context.close()


@only_in_ci
def test_an_answer_is_rated_and_a_chat_shared_to_read_by_keyboard_and_without_a_script(
    chromium: Browser, served: Served
) -> None:
    page = opened(chromium, served, KEYS_CHAT_PATH)
    tab_to(page, '.turn:first-of-type [data-rating="yes"]')
    up = up_of(page)
    page.keyboard.press("Enter")
    expect(up).to_have_attribute("aria-pressed", "true")
    expect(up).to_be_focused()
    page.get_by_text("Let people read it…").click()
    assert hindrances(page) == []
    page.get_by_role("button", name="Share with a link").click()
    link = page.locator("#share .link a").inner_text()
    page.goto(link)
    assert hindrances(page) == []
    page.context.close()
    page = opened(chromium, served, KEYS_CHAT_PATH, "phone, dark", script=False)
    expect(up_of(page)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Not helpful").first.click()
    expect(up_of(page)).to_have_attribute("aria-pressed", "false")
    page.goto(link)
    expect(page.get_by_text("spare keys")).to_be_visible()
    expect(page.get_by_role("textbox")).to_have_count(0)
    page.goto(KEYS_CHAT_PATH)
    page.get_by_text("People can read it").click()
    page.get_by_role("button", name="Stop sharing").click()
    page.get_by_text("Let people read it…").click()
    page.context.close()
    page = logged_in(chromium, served.base, "bob", timezone_id="Asia/Tokyo")
    page.goto("/account/")
    page.reload()  # the browser has told its zone
    expect(page.get_by_text("Times are in Asia/Tokyo.")).to_be_visible()
    page.context.close()


def up_of(page: Page) -> Locator:
    return page.get_by_role("button", name="Helpful", exact=True).first


@only_in_ci
@pytest.mark.parametrize("look", LOOKS)
def test_it_hinders_nobody_from_right_to_left_either(chromium: Browser, served: Served, look: str) -> None:
    page = opened(chromium, served, HEBREW, look)
    assert hindrances(page) == []
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert hindrances(page) == []
    page.get_by_role("link", name="Edit").first.click()
    box = page.get_by_role("textbox", name="New text")
    expect(box).to_be_focused()
    assert box.evaluate("box => getComputedStyle(box).direction") == "rtl"
    page.context.close()


@only_in_ci
def test_a_long_chat_is_compacted_while_the_page_says_how_far_it_is(chromium: Browser, served: Served) -> None:
    page = opened(chromium, served, LONG_CHAT_PATH)
    box, model = page.get_by_role("textbox", name="Message"), served.model
    turns = page.locator("#turns .turn").count()
    model.gate.clear()
    model.answer = lambda messages: "Sorry, no."
    box.fill("/compact the ports")
    box.press("Enter")
    expect(page.locator("#stage")).to_have_text("10 %, planning")
    expect(page.get_by_role("progressbar", name="Shortening this chat:")).to_have_js_property("value", 10)
    expect(box).to_be_focused()
    assert hindrances(page) == []
    model.gate.set()
    expect(page.get_by_text("This chat could not be shortened just now. The model gave no answer")).to_be_visible()
    expect(page.locator("#compacting")).to_be_hidden()
    model.answer = long_chats.model
    box.fill("/compact the ports")
    box.press("Enter")
    made = page.locator("details.checkpoint")
    expect(made.locator("summary")).to_contain_text("Shortened: ")
    made.locator("summary").click()
    expect(made).to_contain_text("ERR_SLOT_4711")
    expect(page.locator("#compacting, #not-compacted")).to_have_count(2)
    expect(page.locator("#compacting:visible, #not-compacted:visible")).to_have_count(0)
    expect(page.locator("#turns .turn")).to_have_count(turns)
    page.context.close()
