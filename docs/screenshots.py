"""Take the README's pictures of a running demo: `python -m docs.screenshots http://127.0.0.1:8000`. Needs Chromium.

It asks a question in a new chat of the demo, for the picture of what memory the message was given.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent / "images"
PROJECT = "/p/northwind-clinics/billing-migration/"
MEMORY = f"{PROJECT}memory/"
PAGES = {"memory.png": MEMORY, "timeline.png": f"{MEMORY}timeline"}
QUESTION, MEMORY_USED = "Who is our contact at Paywright?", "memory-used.png"
SIZE = {"width": 1000, "height": 760}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-GB")
        page.goto(sys.argv[1])
        page.fill("#id_username", "priya")
        page.fill("#id_password", "demo")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Your projects").wait_for()
        for name, address in PAGES.items():
            page.goto(sys.argv[1] + address)
            page.screenshot(path=FOLDER / name)
        open_memory_used(page, sys.argv[1])
        page.screenshot(path=FOLDER / MEMORY_USED)
        browser.close()


def open_memory_used(page: Page, site: str) -> None:
    """Ask the question, and open the page with the memory that its answer was given; without a model, its prompt."""
    page.goto(site + PROJECT)
    page.get_by_role("button", name="New chat").click()
    page.wait_for_url("**/chats/**")
    chat = page.url
    page.get_by_role("textbox", name="Message").fill(QUESTION)
    page.get_by_role("button", name="Send").click()
    turn = page.locator("#turns [id^=turn-]").first.get_attribute("id") or ""
    page.locator(".writing").wait_for(state="detached")
    page.goto(f"{chat}turns/{turn.removeprefix('turn-')}/memory")


if __name__ == "__main__":
    main()
