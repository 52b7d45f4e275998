"""python -m tests.support.release_dump: dump a small site's database as SQL, for SQLite and PostgreSQL, for a release.

Run it for each release, with the release number, and commit the dumps: a test then loads the newest dump and migrates
it to the current tables, and runs the release's code (the commit that is checked out) beside the current one. Until
0.1.0 is released, its dump is written again whenever the migration 0001 changes.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import django
from django.db import connections

from tests.support.own_site import Site, site
from tests.support.requirements import needs_postgres

DUMPS = Path(__file__).parent.parent / "site/releases"
#: Audit logs are sealed with this key, so the site that loads a dump needs the same key.
SECRET_KEY = "the key of the release dumps"
PROJECT, LATER = "acme/apollo", "2026-03-04T09:00:00Z"
#: The question of the first turn, which the site must remember and recall.
SAID = "We chose Postgres 16 for billing, and Priya owns it."
TURNS = [
    {"chat": "c1", "user": "priya", "question": SAID, "answer": "Noted.", "id": "1"},
    {"chat": "c1", "user": "tom", "question": "The nightly export goes to Bremen.", "answer": "Noted.", "id": "2"},
    {"chat": "c2", "user": "tom", "question": "Who answers this?", "answer": "", "status": "pending", "id": "3"},
]
#: Prefixes of lines of pg_dump's output that are not SQL or that some servers do not support.
UNWANTED = ("--", "\\", "SET ")
CREATED_POLICY = re.compile(r'CREATE POLICY \w+ ON "(?P<table>\w+)" USING \((?P<condition>.*)\)')


def fill(made: Site) -> None:
    """Add remembered turns, a turn without an answer, and an erased turn."""
    common = {"tenant": "acme", "project": "apollo", "created_at": "2026-03-02T09:00:00Z"}
    erased = {"chat": "c3", "user": "marta", "question": "The crane is orange.", "answer": "Noted.", "id": "4"}
    lines = "".join(json.dumps({**common, **turn}) + "\n" for turn in [*TURNS, erased])
    for command in (
        ("import_chats", "-", "--enable"),
        ("run_memory", "--until-idle", "--now", LATER),
        ("forget_memory", PROJECT, "--chat", "c3"),
        ("check_memory",),
    ):
        done = made.call(*command, stdin=lines if command[0] == "import_chats" else "")
        assert done.code == 0, done.err


def sqlite_dump(file: Path) -> Iterator[str]:
    """The statements that recreate a SQLite database; the full-text index is rebuilt from the documents."""
    with closing(sqlite3.connect(file)) as connection:
        master = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
        known = [
            row
            for row in connection.execute(master)
            if not row[1].startswith("memorybank_search_") or row[0] == "trigger"
        ]
        tables = sorted(name for kind, name, sql in known if kind == "table" and "VIRTUAL" not in sql)
        yield from (f"{sql};" for kind, name, sql in sorted(known) if name in tables and kind == "table")
        for table in [*tables, "sqlite_sequence"]:
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            values = " || ', ' || ".join(f'quote("{column}")' for column in columns)
            names = ", ".join(f'"{column}"' for column in columns)
            for (row,) in connection.execute(f'SELECT {values} FROM "{table}" ORDER BY rowid'):
                yield f'INSERT INTO "{table}" ({names}) VALUES ({row});'
        for _kind, name, sql in sorted(known):
            if name not in tables:
                yield f"{sql};"
        yield "INSERT INTO memorybank_search (memorybank_search) VALUES ('rebuild');"


def postgresql_dump(address: str) -> Iterator[str]:
    """The statements that recreate a PostgreSQL database."""
    command = ["pg_dump", "--no-owner", "--no-privileges", "--inserts", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    yield from (line for line in done.stdout.splitlines() if line and not line.startswith(UNWANTED))


def newest_of(kind: str) -> str:
    """The name of the newest release's file of a kind, such as ``postgresql.sql``."""
    names = [path.name for path in DUMPS.glob(f"*.{kind}")]
    return max(names, key=lambda name: tuple(map(int, name.split(".")[:3])))


def policies() -> dict[str, str]:
    """The condition of each table's policy of row-level security."""
    from memorybank.postgresql import row_security  # its models need django.setup()

    statements = row_security.statements(connections["default"], "role", is_superuser=False)
    found = filter(None, map(CREATED_POLICY.fullmatch, statements))
    return {match["table"]: match["condition"] for match in found}


def write(release: str) -> None:
    """Write the dumps of a release for SQLite and PostgreSQL, its policies, and its commit, the one checked out."""
    DUMPS.mkdir(exist_ok=True)
    _write(f"{release}.policies.json", [json.dumps(policies(), indent=1)])
    checked_out = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    _write(f"{release}.commit", [checked_out.stdout.strip()])
    with tempfile.TemporaryDirectory() as data:
        with site(Path(data) / "sqlite", SECRET_KEY=SECRET_KEY) as made:
            fill(made)
            _write(f"{release}.sqlite.sql", sqlite_dump(made.data / "memorybank.sqlite3"))
        (Path(data) / "postgresql").mkdir()
        with site(Path(data) / "postgresql", postgres=needs_postgres(), SECRET_KEY=SECRET_KEY) as made:
            fill(made)
            _write(f"{release}.postgresql.sql", postgresql_dump(made.database_url))


def _write(name: str, statements: Iterable[str]) -> None:
    (DUMPS / name).write_text("\n".join(statements) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", help="such as 0.1.0")
    write(parser.parse_args().release)
