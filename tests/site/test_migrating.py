"""A database of the last release has the newest tables after ``migrate``, serves, and goes back; nothing is lost."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.error import URLError

import psycopg
import pytest

from tests.projects.chat.test_lost_answers import Browser, free_port
from tests.support.own_site import Site, site, wait_until
from tests.support.release_dump import DUMPS, PROJECT, SAID, SECRET_KEY, newest_of
from tests.support.requirements import in_ci, needs_postgres, only_in_ci

pytestmark = [pytest.mark.long, pytest.mark.own_servers]

NEW_TURN = json.dumps(
    {
        "tenant": "acme",
        "project": "apollo",
        "chat": "c1",
        "user": "tom",
        "question": "The winch is in Bremen.",
        "answer": "Noted.",
        "created_at": "2026-03-05T09:00:00Z",
    }
)


def newest(database: str) -> str:
    """The dump of the last release."""
    return (DUMPS / newest_of(f"{database}.sql")).read_text()


def load(made: Site, dump: str) -> None:
    """Into an empty database, without our own code."""
    if made.database_url:
        with psycopg.connect(made.database_url) as connection:
            connection.execute(dump.encode())
    else:
        with closing(sqlite3.connect(made.data / "memorybank.sqlite3")) as file:
            file.executescript(f"BEGIN; {dump} COMMIT;")


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=in_ci)])
def test_a_database_of_the_last_release_migrates_and_goes_on(tmp_path: Path, database: str) -> None:
    postgres = needs_postgres() if database == "postgresql" else ""
    with site(tmp_path, postgres=postgres, migrated=False, SECRET_KEY=SECRET_KEY) as made:
        load(made, newest(database))
        migrated = made.manage("migrate", "--verbosity", "0")
        assert (migrated.code, migrated.err) == (0, "")
        assert made.call("migrate", "--check").code == 0
        assert made.call("check_memory").code == 0
        assert SAID in made.call("show_memory", PROJECT).out
        assert SAID in made.call("recall_memory", PROJECT, "What did we choose for billing?").out
        assert made.call("import_chats", "-", stdin=NEW_TURN).code == 0
        assert made.call("run_memory", "--until-idle", "--now", "2026-03-05T12:00:00Z").code == 0
        assert "winch is in Bremen" in made.call("show_memory", PROJECT).out
        assert made.call("check_memory").code == 0


#: The tables of our apps with their columns, and the migrations that are applied.
COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'",
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
}
APPLIED = "SELECT app, max(name) FROM django_migrations WHERE app IN ('memorybank', 'projects') GROUP BY app"
#: The oldest state to which a test goes back: the tables alone, without search and without append-only audit logs.
OLDEST = {"memorybank": "0001", "projects": "0001"}


@only_in_ci
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_it_goes_back_to_the_last_release_with_what_was_said_since_and_forth_again(
    tmp_path: Path, database: str
) -> None:
    postgres = needs_postgres() if database == "postgresql" else ""
    with site(tmp_path, postgres=postgres, migrated=False, SECRET_KEY=SECRET_KEY, DEBUG="true") as made:
        load(made, newest(database))
        release, columns = dict(made.ask(APPLIED)), set(made.ask(COLUMNS[database]))
        migrate(made)
        assert made.call("import_chats", "-", stdin=NEW_TURN).code == 0
        assert made.call("run_memory", "--until-idle", "--now", "2026-03-05T12:00:00Z").code == 0
        serves(made)
        for app, name in release.items():
            migrate(made, app, name)
        assert (dict(made.ask(APPLIED)), set(made.ask(COLUMNS[database]))) == (release, columns)
        for app, name in OLDEST.items():
            migrate(made, app, name)
        said = [question for [question] in made.ask("SELECT question FROM memorybank_output")]
        assert SAID in said and "The winch is in Bremen." in said
        migrate(made)
        assert made.call("check_memory").code == 0
        assert SAID in made.call("recall_memory", PROJECT, "What did we choose for billing?").out
        assert "winch is in Bremen" in made.call("show_memory", PROJECT).out


def migrate(made: Site, *target: str) -> None:
    done = made.manage("migrate", "--verbosity", "0", *target)
    assert (done.code, done.err) == (0, ""), target


def serves(made: Site) -> None:
    """Start web server, worker and beat; they end when the site says that it is ready, after a sweep."""
    browser = Browser(f"http://127.0.0.1:{free_port()}")
    made.start("manage.py", "serve", "--address", browser.base.rpartition("/")[2], SWEEP_SECONDS="1")

    def is_ready() -> bool:
        try:
            return bool(browser.get("/readyz"))
        except (URLError, ConnectionError):
            return False

    wait_until(is_ready, "ready", made)
    made.stop()
