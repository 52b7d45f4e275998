"""“Summarise now” on the bank's page begins at once, by a message to a worker: no sweep has to come first."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.projects.chat.test_lost_answers import Browser, free_port
from tests.support.own_site import Site, site, wait_until

pytestmark = pytest.mark.own_servers

OPERATOR = """
from django.contrib.auth.models import User
User.objects.create_superuser("root", password="x")
"""
BANKS = "/admin/memorybank/bank/"


def say(made: Site, chat: str) -> None:
    """A turn of this moment, so that its chat is not idle."""
    said = {"tenant": "acme", "project": "apollo", "user": "ann", "question": "We chose Postgres 16 for billing."}
    line = {**said, "chat": chat, "answer": "Noted.", "created_at": datetime.now(UTC).isoformat()}
    assert made.call("import_chats", "-", "--enable", stdin=json.dumps(line) + "\n").code == 0


def test_a_chat_that_is_not_idle_is_summarised_without_a_sweep(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with site(tmp_path, SWEEP_SECONDS="86400", DEBUG="true") as made:
        assert made.call("shell", "--verbosity", "0", "-c", OPERATOR).code == 0
        made.start("manage.py", "serve", "--address", address)
        root = Browser(f"http://{address}")
        wait_until(root.is_up, "serving", made)
        root.post("/login/?next=/admin/", root.get("/login/"), username="root", password="x")
        say(made, "c1")
        found = re.search(rf'href="{BANKS}(\w+)/change/', root.get(BANKS))
        assert found
        root.post(f"{BANKS}{found[1]}/ask/", root.get(f"{BANKS}{found[1]}/change/"), job="summarise")
        wait_until(lambda: made.ask("SELECT count(*) FROM memorybank_entry") == [(1,)], "a summary", made)
        assert made.ask("SELECT count(*) FROM memorybank_sweep") == [(0,)]
