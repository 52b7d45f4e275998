"""Take the README's pictures of a running demo: `python -m docs.screenshots http://127.0.0.1:8000`. Needs Chromium."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "images"
MEMORY = "/p/northwind-clinics/billing-migration/memory/"
PAGES = {"memory.png": MEMORY, "timeline.png": f"{MEMORY}timeline"}
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
        browser.close()


if __name__ == "__main__":
    main()
