"""docs/api.md is true: its examples, run by a shell in their order against a served site with worker and beat."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.projects.chat.test_lost_answers import Browser, free_port
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.own_site import Site, site, wait_until

PAGE = (ROOT / "docs/api.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.own_servers

SET_UP = """
from projects.models import Project, Tenant
Project.objects.open(Tenant.objects.create(slug="acme", name="Acme"), "apollo", "Apollo")
"""
#: What stands before the answer of each call, so that they can be told apart.
SEPARATOR = "--- next ---"


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, SWEEP_SECONDS="1") as made:
        yield made


def script(address: str) -> str:
    """All examples of the page, at ``address``."""
    examples = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M))
    ours = examples.replace("http://127.0.0.1:8000", address).replace("python ", f"{sys.executable} ")
    return f"set -eu\n{re.sub('^curl ', f'echo; echo {SEPARATOR!r}; curl ', ours, flags=re.M)}"


def answers(own_site: Site, address: str) -> list[str]:
    """What each call was answered."""
    done = subprocess.run(
        ["bash", "-c", script(address)],
        cwd=ROOT,
        env=own_site._environment({}),
        capture_output=True,
        text=True,
        timeout=PROCESS_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}{own_site.output()[-3000:]}"
    return [item.strip() for item in done.stdout.split(SEPARATOR)[1:]]


def test_every_example_does_what_the_page_says(own_site: Site) -> None:
    assert own_site.call("shell", "--verbosity", "0", "-c", SET_UP).code == 0
    browser = Browser(f"http://127.0.0.1:{free_port()}")
    own_site.start("manage.py", "serve", "--address", browser.base.removeprefix("http://"))
    wait_until(browser.is_up, "up", own_site)
    outputs = answers(own_site, browser.base)
    events = next(item for item in outputs if item.startswith("event: "))
    results: list[Any] = [json.loads(item) for item in outputs if item != events]
    assert not [item for item in results if item.get("type") == "about:blank"], results
    key, switched, one, batch, job = results[:5]
    assert key["project"] == "acme/apollo"
    assert switched["enabled"]
    assert [one["recorded"], *(item["recorded"] for item in batch["outputs"])] == [True] * 3
    assert job["kind"] == "summarise"
    assert events.rpartition("event: ")[2].startswith("done\n")
    memory, block = results[5:7]
    assert "Postgres 16" in memory["block"]["text"]
    assert memory["block"] == block["block"]
    assert results[7]["hits"]
    receipt, receipts, hook, hooks = results[-4:]
    assert receipt["counts"]["turns"] == 1
    assert receipts["items"] == [receipt]
    assert hook.pop("secret")
    assert hooks["items"] == [hook]
