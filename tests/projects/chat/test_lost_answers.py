"""kill -9 of the web server while the model answers: the message is in the chat, and one click asks again."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import only_in_ci

pytestmark = [only_in_ci, pytest.mark.own_servers]

QUESTION = "The launch is on 17 May 2026 in Lisbon. Who books the hotel?"
#: A project with memory, one member who has a password, and her chat; its address is printed.
PEOPLE = """
from django.contrib.auth.models import User
from memorybank import services
from projects.chat import service
from projects.models import Membership, Project, Tenant
tenant = Tenant.objects.create(slug="acme", name="Acme")
bob = User.objects.create_user("bob", password="a pass phrase")
Membership.objects.create(user=bob, tenant=tenant)
project = Project.objects.open(tenant, "apollo", "Apollo")
services.enable(project.bank, actor="bob", disclosure_accepted=True)
print("chat", service.begin(project, bob).chat.key)
"""


class Stalling(OpenAIServer):
    """Never answers while it stalls; tells when somebody waits."""

    def __init__(self) -> None:
        super().__init__(mode="hang")
        self.asked = threading.Event()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        self.asked.set()


class Browser:
    """A person without JavaScript: cookies, pages, forms."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._open = build_opener(HTTPCookieProcessor(CookieJar())).open

    def get(self, path: str) -> str:
        return self._read(Request(self.base + path))

    def post(self, path: str, page: str, **fields: str) -> str:
        """Send a form of ``page``; the page it leads to."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token
        data = urlencode({"csrfmiddlewaretoken": token[1], **fields}).encode()
        return self._read(Request(self.base + path, data))

    def _read(self, request: Request) -> str:
        with self._open(
            request, timeout=PROCESS_TIMEOUT_SECONDS
        ) as answer:  # closed though the server is killed meanwhile
            return str(answer.read().decode())

    def is_up(self) -> bool:
        try:
            return bool(self.get("/login/"))
        except (URLError, ConnectionError):
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(own_site: Site, browser: Browser, model: OpenAIServer) -> Any:
    """The web server, once it answers."""
    command = ("-m", "uvicorn", "config.asgi:application", "--port", browser.base.rpartition(":")[2])
    web = own_site.start(*command, SECRET_KEY="x" * 50, LLM_BASE_URL=model.base_url)
    wait_until(browser.is_up, "up", own_site)
    return web


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, LLM_MAX_RETRIES="0") as made:
        yield made


def test_a_message_outlives_the_web_server_and_is_answered_after_one_click(own_site: Site) -> None:
    set_up = own_site.call("shell", "--verbosity", "0", "-c", PEOPLE)
    assert set_up.code == 0, set_up.err
    chat = f"/p/acme/apollo/chats/{set_up.out.split()[-1]}/"
    browser = Browser(f"http://127.0.0.1:{free_port()}")
    with Stalling() as model:
        web = serve(own_site, browser, model)
        browser.post("/login/", browser.get("/login/"), username="bob", password="a pass phrase")
        page = browser.get(chat)
        asking = threading.Thread(target=post_in_vain, args=(browser, chat, page))
        asking.start()
        wait_until(model.asked.is_set, "asked", own_site)
        kill(web)
        asking.join()

        model.mode = "ok"
        serve(own_site, browser, model)
        page = browser.get(chat)
        assert (page.count(f'data-slot="question">{QUESTION}'), page.count("Try again</button>")) == (1, 1)
        retry = re.search(r'action="([^"]+/turns/\w+/retry)"', page)
        assert retry
        page = browser.post(retry[1], page)
        assert (page.count(f'<div class="text" data-slot="question">{QUESTION}'), model.calls) == (1, 2)
        assert "Assistant" in page.split('id="composer"')[0]

    status = "SELECT question, status FROM memorybank_output"
    assert own_site.ask(status) == [(QUESTION, "ok")]
    report = own_site.call("run_memory", "--until-idle", "--now", "2099-01-01T00:00:00Z", "--json")
    assert json.loads(report.out)["summarised"] == 1, report.err
    assert own_site.ask("SELECT output_count FROM memorybank_entry") == [(1,)]
    assert own_site.call("check_memory").code == 0


def post_in_vain(browser: Browser, path: str, page: str) -> None:
    """Send the message; the connection breaks."""
    with pytest.raises((URLError, ConnectionError)):
        browser.post(path, page, message=QUESTION)
