"""A database of the last release has the newest tables after ``migrate``, and nothing in it is lost."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.support.own_site import Site, site
from tests.support.release_dump import DUMPS, PROJECT, SAID, SECRET_KEY
from tests.support.requirements import needs_postgres

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
    by_number = {tuple(map(int, path.name.split(".")[:3])): path for path in DUMPS.glob(f"*.{database}.sql")}
    return by_number[max(by_number)].read_text()


def load(made: Site, dump: str) -> None:
    """Into an empty database, without our own code."""
    if made.database_url:
        with psycopg.connect(made.database_url) as connection:
            connection.execute(dump.encode())
    else:
        with closing(sqlite3.connect(made.data / "memorybank.sqlite3")) as file:
            file.executescript(f"BEGIN; {dump} COMMIT;")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
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
