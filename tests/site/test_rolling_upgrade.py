"""Web servers and workers of the last release and of this one work side by side after ``migrate``; nothing is lost."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from subprocess import Popen
from uuid import uuid4

import pytest

from tests.projects.chat.test_lost_answers import Browser
from tests.site.test_migrating import load, newest
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.fault_history import FaultHistory
from tests.support.fault_programs import FaultProgram
from tests.support.gateway_site import AT_ONCE, PROJECTS, SET_UP, Gateway
from tests.support.openai_server import OpenAIServer
from tests.support.own_site import Site, site, wait_until
from tests.support.ports import free_port
from tests.support.release_code import released_code
from tests.support.release_dump import SECRET_KEY
from tests.support.requirements import needs_postgres, needs_redis, only_in_ci
from tests.support.upstream import LocalUpstream
from tests.support.upstream_events import ModelAnswer
from tests.system.test_brokers import own_redis
from tests.system.test_faults import ADD_MEMBER, QUICK, unsettled
from tests.system.test_row_security_site import closing_role

pytestmark = [only_in_ci, pytest.mark.long, pytest.mark.own_servers]

#: The answer to whatever the programs say: a word that they said themselves. In the last release a correction may be
#: lost if the answer that it is about repeats a word of a chat that becomes private.
ANSWER = "Hall."
#: So many steps the programs take while workers of one version work, of both, and of the other.
STEPS = 40
SEED = 1
PASSWORD = "a password of tests"
OWNER = f"""
user.set_password("{PASSWORD}")
user.save()
Membership.objects.update(role="owner")
"""


@dataclass
class Version:
    """The code of one version, and its processes on the site."""

    code: Path
    site: Site
    port: int = field(default_factory=free_port)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self, *args: str, **env: str) -> str:
        """Run a command of this version to its end; what it prints."""
        ran = self.site.manage(*args, cwd=self.code, **env)
        assert ran.code == 0, ran.err
        return ran.out

    def serve(self) -> Popen[bytes]:
        command = ("-m", "uvicorn", "config.asgi:application", "--port", self.port, "--log-level", "warning")
        server = self.site.start(*command, cwd=self.code)
        wait_until(Browser(self.address).is_up, "up", self.site)
        return server

    def work(self) -> Popen[bytes]:
        """Start a worker with beat."""
        schedule, name = self.site.data / f"schedule-{self.port}", f"{uuid4().hex}@%h"
        options = ("-B", "-s", schedule, "--pool", "threads", "--concurrency", 2, "--hostname", name)
        return self.site.start("-m", "celery", "-A", "config", "worker", *options, cwd=self.code)

    def invite(self) -> None:
        """As an owner, on the page of this version: an invitation and an event of the tenant's audit log."""
        browser = Browser(self.address)
        browser.post("/login/", browser.get("/login/"), username="ann", password=PASSWORD)
        people = browser.get("/t/acme/people/")
        browser.post("/t/acme/people/invite", people, email=f"{uuid4().hex[:8]}@example.com", role="member")


@dataclass
class Balanced(Gateway):
    """A site whose requests go to the web server of one version and of the other in turn."""

    #: The addresses that answered with status 500.
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.addresses = cycle(self.address.split())

    def post(self, *args: object, **headers: str) -> tuple[int, dict[str, str], bytes]:
        self.address = next(self.addresses)
        answer = super().post(*args, **headers)  # type: ignore[arg-type]
        self.failed += [self.address] if answer[0] == 500 else []
        return answer


@contextmanager
def upgraded(data: Path, **env: str) -> Iterator[tuple[Version, Version, Site]]:
    """Both versions on a database of the last release that this one has migrated; the site as the tables' owner."""
    role, postgres = f"memorybank_app_{uuid4().hex[:8]}", needs_postgres()
    with site(data, postgres=postgres, migrated=False, SECRET_KEY=SECRET_KEY, **env) as made:
        load(made, newest("postgresql"))
        made.env["ROW_SECURITY_ROLE"] = role
        old, new = Version(released_code(data), made), Version(ROOT, made)
        owner = Site(data, made.env, made.database_url)
        with closing_role(made, role) as own_address:
            old.command("migrate", "--verbosity", "0")
            for code in (SET_UP, ADD_MEMBER + OWNER):
                old.command("shell", "-c", code)
            made.database_url = own_address
            old.serve()
            new.command("migrate", "--verbosity", "0", DATABASE_URL=owner.database_url)
            yield old, new, owner


@contextmanager
def programs(
    old: Version, new: Version, upstream: LocalUpstream, history: FaultHistory
) -> Iterator[list[FaultProgram]]:
    """Two programs at work, with a key from a command of each version; an error of theirs is the test's."""
    over, server = threading.Event(), new.serve()
    issue = ("create_api_key", "--name", "programs", "--scopes", "read,write,admin,people", "--json")
    keys = {
        project: json.loads(version.command(*issue, project))["key"]
        for version, project in zip((old, new), PROJECTS[::2], strict=True)
    }
    balanced = [Balanced(f"{old.address} {new.address}", upstream, new.site, keys, server) for _ in range(2)]
    working = [
        FaultProgram(number, SEED, found, keys, history, over, ANSWER) for number, found in enumerate(balanced, 1)
    ]
    for program in working:
        program.start()
    yield working
    over.set()
    for program in working:
        program.join(PROCESS_TIMEOUT_SECONDS)
    assert [program.failure for program in working] == [None, None]


def go_on(working: list[FaultProgram], owner: Site) -> None:
    """Until the programs have gone some steps and memory has more facts."""
    facts, history = "SELECT count(*) FROM memorybank_fact", working[0].history
    [[before]], enough = owner.ask(facts), history.counts["steps"] + STEPS

    def have_worked() -> bool:
        assert not any(program.failure for program in working), [program.failure for program in working]
        return history.counts["steps"] >= enough and owner.ask(facts) > [(before,)]

    wait_until(have_worked, "at work", owner)


def test_processes_of_both_versions_work_side_by_side(tmp_path: Path) -> None:
    history = FaultHistory()
    with own_redis(needs_redis()) as (broker, queue), OpenAIServer(keep=10) as model, LocalUpstream() as upstream:
        upstream.answer = lambda body: ModelAnswer("Noted.")
        environment = {
            "DEBUG": "true", "CELERY_BROKER_URL": broker, "CELERY_QUEUE": queue, **AT_ONCE, **QUICK,
            "SUMMARY_LLM_BASE_URL": model.base_url, "SUMMARY_LLM_MODEL": "test",
            "GATEWAY_OPENAI_BASE_URL": upstream.base_url, "GATEWAY_OPENAI_API_KEY": "sk-upstream",
        }  # fmt: skip
        with upgraded(tmp_path, **environment) as (old, new, owner):
            with programs(old, new, upstream, history) as working:
                worker = old.work()  # first the worker of the last release alone, then both, then the new one alone
                go_on(working, owner)
                new.work()
                go_on(working, owner)
                for version in (old, new):
                    version.invite()
                worker.terminate()
                assert worker.wait(PROCESS_TIMEOUT_SECONDS) == 0, owner.output()[-3000:]
                [[history.last_unjudged_end]] = owner.ask("SELECT max(id) FROM memorybank_fact")
                go_on(working, owner)
            wait_until(lambda: not unsettled(owner), "settled", owner)
            for version in (old, new):
                version.command("check_memory")
            assert history.judge(owner.ask) == []
            failed = [address for program in working for address in program.found.failed if address == new.address]
            assert not failed, owner.output()[-10_000:]  # the last release fails if turns are indexed meanwhile
            assert all(history.judged().values()), history.judged()
            events = dict(owner.ask("SELECT action, count(*) FROM projects_tenantevent GROUP BY action"))
            assert (events["invite"], events["issue"] >= 2) == (2, True)
