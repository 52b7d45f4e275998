"""A release only adds to the tables, so that processes of the last one work on after ``migrate``."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.site.test_migrating import load, newest
from tests.support.own_site import Site, site
from tests.support.release_dump import DUMPS, newest_of, policies
from tests.support.requirements import needs_postgres
from tests.support.schema_changes import breaking, schema_of

pytestmark = [pytest.mark.long, pytest.mark.own_servers]

#: Breaking changes of this release, each with the reason that its notes give: stop every process before ``migrate``.
ACCEPTED: dict[str, str] = {}


@pytest.fixture
def released(tmp_path: Path) -> Iterator[Site]:
    """A site with the tables of the last release."""
    with site(tmp_path, postgres=needs_postgres(), migrated=False) as made:
        load(made, newest("postgresql"))
        yield made


def test_migrations_break_no_process_of_the_last_release(released: Site) -> None:
    with psycopg.connect(released.database_url) as connection:
        before = schema_of(connection)
    migrated = released.manage("migrate", "--verbosity", "0")
    assert (migrated.code, migrated.err) == (0, "")
    with psycopg.connect(released.database_url) as connection:
        broken = set(breaking(before, schema_of(connection)))
    asked, policies_now = json.loads((DUMPS / newest_of("policies.json")).read_text()), policies()
    changed = {table for table in policies_now.keys() & before.tables if policies_now[table] != asked.get(table)}
    assert broken | {f"{table} has a new policy" for table in changed} == set(ACCEPTED)


#: What a migration may not do, with what is said of it, in parts.
CONTRACTING = {
    "ALTER TABLE memorybank_chat RENAME COLUMN private TO closed": "private is gone|closed is new, not null",
    "ALTER TABLE memorybank_chat DROP COLUMN title": "title is gone",
    "ALTER TABLE memorybank_chat RENAME TO memorybank_thread": "memorybank_chat is gone",
    "ALTER TABLE memorybank_output ADD language text NOT NULL DEFAULT ''; "
    "ALTER TABLE memorybank_output ALTER language DROP DEFAULT": "language is new, not null and without a default",
    "ALTER TABLE memorybank_output ALTER created_at TYPE date": "created_at was timestamp with time zone and is date",
    "ALTER TABLE memorybank_chat ALTER key TYPE varchar(100)": "key was character varying(200) and is",
    "ALTER TABLE memorybank_chat ALTER last_output_at SET NOT NULL": "last_output_at may no longer be null",
    "ALTER TABLE memorybank_chat ADD CHECK (title <> 'x')": "memorybank_chat has a new condition: CHECK",
    "ALTER TABLE memorybank_output ADD FOREIGN KEY (sequence) REFERENCES memorybank_chat ON DELETE CASCADE NOT VALID":
    "memorybank_output has a new condition: FOREIGN KEY",
    "CREATE UNIQUE INDEX ON memorybank_chat (bank_id, title)": "memorybank_chat must be unique in a new way",
    "CREATE UNIQUE INDEX ON memorybank_chat (upper(title))": "memorybank_chat must be unique in a new way",
    "ALTER TABLE memorybank_chat DROP CONSTRAINT chat_key_unique_in_bank": "memorybank_chat has no longer what",
    "CREATE TRIGGER no AFTER UPDATE ON memorybank_chat FOR EACH ROW EXECUTE FUNCTION memorybank_append_only('a', 'b')":
    "memorybank_chat has a new condition: CREATE TRIGGER",
    "CREATE TABLE memorybank_mark (id bigint, chat_id bigint REFERENCES memorybank_chat)":
    "memorybank_mark keeps rows of memorybank_chat from being deleted",
    "ALTER TABLE memorybank_fact ADD chat_id bigint REFERENCES memorybank_chat":
    "memorybank_fact keeps rows of memorybank_chat from being deleted",
}  # fmt: skip
EXPANDING = [
    "ALTER TABLE memorybank_chat ADD mood text NOT NULL DEFAULT ''",
    "ALTER TABLE memorybank_chat ADD mood text CHECK (mood <> 'x')",
    "ALTER TABLE memorybank_chat ADD mood text UNIQUE",
    "ALTER TABLE memorybank_chat ALTER key TYPE varchar(300)",
    "ALTER TABLE memorybank_chat ALTER key TYPE text",
    "ALTER TABLE memorybank_chat ALTER attempts TYPE bigint",
    "ALTER TABLE memorybank_chat ALTER title DROP NOT NULL",
    "ALTER TABLE memorybank_chat DROP CONSTRAINT chat_key_not_empty",
    "CREATE INDEX ON memorybank_chat (title)",
    "CREATE TABLE memorybank_mark (id bigint UNIQUE, word text NOT NULL, chat_id bigint REFERENCES memorybank_chat "
    "ON DELETE CASCADE)",
    "ALTER TABLE memorybank_fact ADD chat_id bigint REFERENCES memorybank_chat ON DELETE SET NULL",
]


def test_a_change_that_breaks_the_last_release_is_said(released: Site) -> None:
    with psycopg.connect(released.database_url) as connection:
        before = schema_of(connection)

        def said_of(statement: str) -> list[str]:
            with connection.transaction(force_rollback=True):
                connection.execute(statement.encode())
                return list(breaking(before, schema_of(connection)))

        for statement, parts in CONTRACTING.items():
            said = said_of(statement)
            assert all(any(part in line for line in said) for part in parts.split("|")), (statement, said)
        assert {statement: said for statement in EXPANDING if (said := said_of(statement))} == {}
