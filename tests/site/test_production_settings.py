"""A site that others reach: closed unless opened, slow to guess at, kept by nobody, served while a model thinks."""

import os
import re
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from projects.models import AttemptCounter
from projects.tenancy.login_throttle import FREE_ATTEMPTS, MAX_WAIT, wait
from tests.projects.chat.test_lost_answers import PEOPLE, Browser, Stalling, free_port
from tests.support.cast import Cast, without_models
from tests.support.commands import NO_MODEL, OURS, PROCESS_TIMEOUT_SECONDS, ROOT, run
from tests.support.own_site import site, wait_until
from tests.support.requirements import only_in_ci

#: As docs/settings.md says for a site behind a server that speaks HTTPS.
PRODUCTION = {
    "SECRET_KEY": "long-and-random-0123456789-abcdefghijklmnopqrstuvwxyz-for-this-test",
    "DEBUG": "false",
    "ALLOWED_HOSTS": "memory.example.com",
    "HTTPS": "true",
}


def python(*args: object, data: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python with a clean environment, as on a fresh clone."""
    ours = (*OURS, "DEMO", "HTTPS", "DJANGO_SETTINGS_MODULE", "ALLOWED_HOSTS")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, *map(str, args)],
        cwd=ROOT,
        env={**clean, **NO_MODEL, "DATA_DIR": str(data), **env},
        capture_output=True,
        text=True,
        timeout=PROCESS_TIMEOUT_SECONDS,
        check=False,
    )


# --- settings ------------------------------------------------------------------------------------


def test_debug_is_off_unless_asked_for_and_the_key_is_this_machine_s_own(tmp_path: Path) -> None:
    ask = "from config import settings; print(settings.DEBUG, settings.SECRET_KEY)"
    first, second = (python("-c", ask, data=tmp_path).stdout.split() for _ in range(2))
    assert first == second
    assert first[0] == "False"
    assert len(first[1]) > 60
    assert python("-c", ask, data=tmp_path / "other").stdout.split()[1] != first[1]
    assert python("-c", ask, data=tmp_path, DEBUG="true").stdout.split()[0] == "True"


def test_a_server_without_a_key_says_so_in_one_line(tmp_path: Path) -> None:
    for env in ({}, {"DEBUG": "false"}):
        ran = python("-c", "import config.asgi", data=tmp_path, **env)
        assert ran.returncode == 1
        assert "Set SECRET_KEY" in ran.stderr.splitlines()[-1]
    assert python("-c", "import config.asgi", data=tmp_path, SECRET_KEY="x").returncode == 0
    server = python("-m", "uvicorn", "config.asgi:application", "--port", "0", data=tmp_path)
    assert server.returncode != 0
    assert "Set SECRET_KEY" in server.stderr
    assert "Traceback" not in server.stderr


def test_the_deployment_check_is_clean_with_the_documented_variables(tmp_path: Path) -> None:
    ran = python("manage.py", "check", "--deploy", "--fail-level", "WARNING", data=tmp_path, **PRODUCTION)
    assert (ran.returncode, ran.stderr.count("WARNINGS")) == (0, 0), ran.stderr
    documented = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in documented for name in PRODUCTION)


def test_the_data_is_its_owner_s_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    (data / "memorybank.sqlite3").touch(mode=0o644)
    write = "from django.db import connection; connection.cursor().execute('CREATE TABLE written (id)')"
    assert python("manage.py", "shell", "--verbosity", "0", "-c", write, data=data).returncode == 0
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (data, *data.rglob("*"))}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
    assert (data / "secret_key").exists()


@pytest.mark.parametrize("address", ["0.0.0.0:8000", "192.0.2.1:80", "8000"])
def test_the_demo_s_people_are_made_for_an_address_of_this_machine_alone(address: str) -> None:
    ran = run("demo", "--no-serve", "--address", address)  # this test has no database for what would follow
    assert (ran.code, "passwords are public" in ran.err) == (2, True)


def test_the_demo_s_people_are_made_with_debug_alone(tmp_path: Path) -> None:
    ran = python("manage.py", "demo", "--no-serve", data=tmp_path, DEBUG="false", SECRET_KEY="x")
    assert (ran.returncode, "passwords are public" in ran.stderr) == (2, True)
    assert not (tmp_path / "memorybank.sqlite3").exists()


def test_nothing_is_served_while_the_admin_opens_with_the_demo_s_password(tmp_path: Path) -> None:
    with site(tmp_path) as made:
        create = "from projects.importing import demo; demo.create_people([])"
        assert made.call("shell", "--verbosity", "0", "-c", create).code == 0
        ran = made.call("serve", "--address", "127.0.0.1:0")
        # The web server by itself, as containers and services start it.
        server = ("-m", "uvicorn", "config.asgi:application", "--port", "0")
        code = made.start(*server, SECRET_KEY="x", DEBUG="false").wait(PROCESS_TIMEOUT_SECONDS)
        printed = (tmp_path / "output").read_text(encoding="utf-8")
    why = "admin, hanna, priya: may use the admin with the demo's password"
    assert (ran.code, why in ran.err) == (2, True)
    assert (code, why in printed) == (3, True)


# --- wrong logins --------------------------------------------------------------------------------


@without_models
class LoginTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        for user in (self.alice, self.bob):
            user.set_password("a pass phrase")
            user.save()

    def login(self, door: str, name: str, password: str, **more: Any) -> Any:
        return self.client.post(reverse(door), {"username": name, "password": password}, **more)

    def test_guessing_is_slowed_and_the_right_password_waits_as_well(self) -> None:
        for _ in range(FREE_ATTEMPTS["name"]):
            self.assertNotContains(self.login("login", "alice", "guess"), "Too many")
        for password in ("guess", "a pass phrase"):
            self.assertContains(self.login("login", "alice", password), "Too many failed logins. Try again in ")
        AttemptCounter.objects.update(last=timezone.now() - MAX_WAIT)
        self.assertEqual(self.login("login", "alice", "a pass phrase").status_code, 302)

    def test_the_admin_has_no_door_of_its_own(self) -> None:
        answer = self.login("admin:login", "alice", "a pass phrase")
        self.assertEqual((answer.status_code, answer["Location"]), (302, reverse("login")))
        self.assertNotIn("_auth_user_id", self.client.session)

    def test_others_are_not_slowed_and_a_success_forgets(self) -> None:
        for _ in range(FREE_ATTEMPTS["name"] - 1):
            self.login("login", "alice", "guess")
        self.assertEqual(self.login("login", "alice", "a pass phrase").status_code, 302)
        self.client.logout()
        for _ in range(FREE_ATTEMPTS["name"]):
            self.login("login", "alice", "guess")
        self.assertEqual(self.login("login", "bob", "a pass phrase").status_code, 302)

    def test_one_address_does_not_try_out_many_names(self) -> None:
        for number in range(FREE_ATTEMPTS["address"]):
            self.login("login", f"nobody{number}", "guess")
        self.assertContains(self.login("login", "alice", "guess"), "Too many")
        self.assertNotContains(self.login("login", "alice", "guess", REMOTE_ADDR="192.0.2.7"), "Too many")

    def test_who_is_nobody_is_slowed_just_as_somebody(self) -> None:
        answers = []
        for name in ("alice", "nobodyx"):
            tries = [self.login("login", name, "guess") for _ in range(FREE_ATTEMPTS["name"] + 1)]
            answers.append(["Too many" in page.content.decode() for page in tries])
        self.assertEqual(*answers)

    def test_the_pause_doubles_up_to_its_limit_and_is_forgotten_in_a_day(self) -> None:
        now, keys = timezone.now(), AttemptCounter.keys(name="alice")
        pauses = []
        for count in range(FREE_ATTEMPTS["name"] - 1, FREE_ATTEMPTS["name"] + 12):
            AttemptCounter.objects.update_or_create(key=keys["name"], defaults={"count": count, "last": now})
            pauses.append(wait(keys, now).total_seconds())
        self.assertEqual(pauses[:4], [0, 60, 120, 240])
        self.assertEqual(pauses[-1], MAX_WAIT.total_seconds())
        self.assertEqual(wait(keys, now + timedelta(days=1)), timedelta())

    def test_every_page_says_what_it_loads_and_that_nobody_keeps_it(self) -> None:
        self.client.force_login(self.alice)
        chat = self.begin_chat(self.alice, self.apollo)
        for url in ("/", self.chat_url(chat), "/p/acme/apollo/", "/admin/", "/login/", "/nowhere/"):
            page = self.client.get(url)
            self.assertIn("default-src 'self'", page.headers["Content-Security-Policy"], url)
            self.assertRegex(page.headers["Cache-Control"], "private")
            self.assertRegex(page.headers["Cache-Control"], "no-store")
            self.assertFalse(re.search(rb"<script(?![^>]*src=)[^>]*>\s*\w|<style|style=\"|onclick=", page.content), url)
        self.assertEqual(self.say(self.alice, chat, "Hi").headers["Cache-Control"], "private, no-store")


# --- the documented server -----------------------------------------------------------------------


#: Who all wait for a model in one process: more than any pool of threads holds by itself (Python's has at most 32).
MANY = 34


def in_vain(browser: Browser, path: str, page: str) -> None:
    """Send a message; nobody waits for the answer."""
    with suppress(OSError):
        browser.post(path, page, message="Who books the hotel?")


def documented() -> list[str]:
    (command,) = re.findall(r"\| web \| `([^`]+)` \|", (ROOT / "docs/operating.md").read_text(encoding="utf-8"))
    return ["-m", *command.split()]


@only_in_ci
@pytest.mark.own_servers
def test_the_documented_server_answers_others_while_a_model_is_slow(tmp_path: Path) -> None:
    with Stalling() as model, site(tmp_path, SECRET_KEY="x" * 50, LLM_BASE_URL=model.base_url) as served:
        made = served.call("shell", "--verbosity", "0", "-c", PEOPLE)
        assert made.code == 0, made.err
        chat, port = f"/p/acme/apollo/chats/{made.out.split()[-1]}/", free_port()
        served.start(*documented(), "--port", port)
        browser = Browser(f"http://127.0.0.1:{port}")
        wait_until(browser.is_up, "up", served)
        browser.post("/login/", browser.get("/login/"), username="bob", password="a pass phrase")
        page = browser.get(chat)
        for _ in range(MANY):
            threading.Thread(target=in_vain, args=(browser, chat, page), daemon=True).start()
        wait_until(lambda: model.calls == MANY, "asked", served)
        assert "Message" in browser.get(chat)
