"""No process starts before the tables of its code are there; newer tables stop none."""

from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from projects.management.migrated import why_not_migrated
from tests.projects.chat.test_lost_answers import Browser
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.own_site import Site, site, wait_until
from tests.support.ports import free_port
from tests.support.requirements import in_ci, needs_postgres

pytestmark = pytest.mark.own_servers

REFUSAL = "not applied. Run “python manage.py migrate” first."
NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('memorybank', '9999_newer', CURRENT_TIMESTAMP)"
WORKER = ("-m", "celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "INFO")


def web_server(port: int = 0) -> tuple[object, ...]:
    return "-m", "uvicorn", "config.asgi:application", "--port", port, "--log-level", "warning"


def refused(made: Site, *command: object) -> tuple[int, str]:
    """The exit code of a process that ends by itself, and what it printed."""
    before = len(made.output()) if made.processes else 0
    code = made.start(*command).wait(PROCESS_TIMEOUT_SECONDS)
    return code, made.output()[before:]


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=in_ci)])
def test_each_process_says_in_one_line_that_migrations_are_missing(tmp_path: Path, database: str) -> None:
    postgres = needs_postgres() if database == "postgresql" else ""
    with site(tmp_path, postgres=postgres, migrated=False, SECRET_KEY="k" * 50) as made:
        ends = {name: refused(made, *command) for name, command in (("web", web_server()), ("worker", WORKER))}
        ran = made.manage("serve", "--address", "127.0.0.1:1")
    assert (ran.code, ran.err.count("\n"), REFUSAL in ran.err) == (1, 1, True)
    assert {name: (code, printed.count(REFUSAL)) for name, (code, printed) in ends.items()} == {
        "web": (3, 1),
        "worker": (1, 1),
    }
    assert "Traceback" not in made.output()


def test_processes_start_after_the_migrations_of_a_newer_release(tmp_path: Path) -> None:
    with site(tmp_path, DEBUG="true") as made:
        made.tell(NEWER)
        port = free_port()
        made.start(*web_server(port))
        made.start(*WORKER)
        wait_until(Browser(f"http://127.0.0.1:{port}").is_up, "up", made)
        wait_until(lambda: "ready." in made.output(), "ready", made)


@pytest.mark.django_db
def test_the_refusal_counts_what_is_missing() -> None:
    recorder = MigrationRecorder(connection)
    assert why_not_migrated() == ""
    recorder.record_unapplied("projects", "0001_initial")
    assert why_not_migrated().startswith("1 migration is not applied (projects.0001_initial).")
    recorder.record_unapplied("memorybank", "0001_initial")
    assert why_not_migrated().startswith("2 migrations are not applied.")
