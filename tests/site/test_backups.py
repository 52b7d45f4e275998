"""A backup as docs/operating.md describes it, restored as a site of its own, with the sealing key and without."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.own_site import Site, site
from tests.support.release_dump import PROJECT, fill
from tests.support.requirements import in_ci, needs_postgres

pytestmark = pytest.mark.own_servers

LOST_KEY = "the key of the site that is lost, which is kept elsewhere"


@contextmanager
def restored_sqlite(lost: Site, folder: Path) -> Iterator[Site]:
    with site(folder, migrated=False, SECRET_KEY=LOST_KEY) as new:
        files = (lost.data / "memorybank.sqlite3", new.data / "memorybank.sqlite3")
        with closing(sqlite3.connect(files[0])) as old, closing(sqlite3.connect(files[1])) as copy:
            old.backup(copy)  # what the shell's .backup does
        yield new


@contextmanager
def restored_postgres(lost: Site, folder: Path) -> Iterator[Site]:
    with site(folder, postgres=needs_postgres(), migrated=False, SECRET_KEY=LOST_KEY) as new:
        backup = folder / "copy.sql"
        subprocess.run(["pg_dump", "--no-owner", f"--file={backup}", lost.database_url], check=True)
        load = ["psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={backup}", new.database_url]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
        yield new


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=in_ci)])
def test_a_restored_backup_is_whole_with_the_key_and_says_so_without(database: str, tmp_path: Path) -> None:
    for name in ("lost", "new"):
        (tmp_path / name).mkdir()
    server = needs_postgres() if database == "postgres" else ""
    restored = restored_postgres if server else restored_sqlite
    with site(tmp_path / "lost", postgres=server, SECRET_KEY=LOST_KEY) as lost:
        fill(lost)
        before = lost.call("show_memory", PROJECT).out
        with restored(lost, tmp_path / "new") as new:
            lost.stop()
            assert new.call("migrate", "--check").code == 0
            assert new.call("check_memory").code == 0
            assert new.call("show_memory", PROJECT).out == before != ""
            keyless = new.manage("check_memory", SECRET_KEY="another key, made up because nobody kept the first one")
            assert (keyless.code, "was changed" in keyless.out) == (1, True)
