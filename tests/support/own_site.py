"""A complete site for one test: its own database, data directory, environment and processes; cleaned up at the end."""

import atexit
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from django.conf import global_settings
from django.db import connections
from django.test import override_settings

from . import prepared
from .commands import NO_MODEL, OURS, PROCESS_TIMEOUT_SECONDS, ROOT, Ran, run

#: Allows a test to use a database other than the test database. Set at the start of the run.
unblocked: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass
class Site:
    """Runs commands and workers on one database. ``env`` holds further environment variables for its processes.

    ``manage`` runs a command in a new process, which takes a second of CPU time. ``call`` runs it in this process, for
    preparing a test and checking its result.
    """

    data: Path
    env: dict[str, str]
    database_url: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *args: object, stdin: str | None = None, cwd: Path = ROOT, **env: str) -> Ran:
        """Run a command in a new process and wait for it."""
        done = subprocess.run(
            [sys.executable, "manage.py", *map(str, args)],
            cwd=cwd,
            env=self._environment(env),
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROCESS_TIMEOUT_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def call(self, *args: object, stdin: str = "") -> Ran:
        """Run a command in this process, with the site's settings and on its database."""
        with (
            self._entered(),
            tempfile.TemporaryFile("w+", encoding="utf-8") as lines,
            redirect_stdout(StringIO()) as printed,
        ):
            lines.write(stdin)
            lines.seek(0)
            with patch.object(sys, "stdin", lines):
                ran = run(*args)
        return Ran(ran.code, ran.out + printed.getvalue(), ran.err)

    def start(
        self, *args: object, stdin: int = subprocess.DEVNULL, cwd: Path = ROOT, **env: str
    ) -> subprocess.Popen[bytes]:
        """Start ``python …`` in its own process group; its output is in ``data/output``."""
        with (self.data / "output").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, *map(str, args)],
                cwd=cwd,
                env=self._environment(env),
                stdin=stdin,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def output(self) -> str:
        """The output of the started processes."""
        return (self.data / "output").read_text(errors="replace")

    def stop(self) -> None:
        """Kill all processes that :meth:`start` started."""
        for process in self.processes:
            kill(process)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the database."""
        if self.database_url:
            with psycopg.connect(self.database_url) as connection:
                return connection.execute(query).fetchall()  # type: ignore[call-overload]
        with closing(sqlite3.connect(self.data / "memorybank.sqlite3", timeout=PROCESS_TIMEOUT_SECONDS)) as file:
            return file.execute(query).fetchall()

    def tell(self, statement: str) -> None:
        """Execute a statement in the database."""
        if self.database_url:
            with psycopg.connect(self.database_url) as connection:
                connection.execute(statement)  # type: ignore[call-overload]
            return
        with closing(sqlite3.connect(self.data / "memorybank.sqlite3", timeout=PROCESS_TIMEOUT_SECONDS)) as file, file:
            file.execute(statement)

    def empty(self) -> None:
        """Empty the SQLite database while processes use it. Ids go on from the old ones: processes cache rows by id."""
        with tempfile.TemporaryDirectory() as place:
            prepared.migrated(Path(place))
            migrated = sqlite3.connect(Path(place, "memorybank.sqlite3"))
            used = sqlite3.connect(self.data / "memorybank.sqlite3", timeout=PROCESS_TIMEOUT_SECONDS)
            with closing(migrated), closing(used):
                (highest,) = used.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()
                with migrated:
                    migrated.execute("DELETE FROM sqlite_sequence")
                    numbered = "SELECT name, ? FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
                    migrated.execute(f"INSERT INTO sqlite_sequence (name, seq) {numbered}", [highest])
                migrated.backup(used)

    def settings(self) -> dict[str, Any]:
        """Django's settings as the site's processes read them."""
        with patch.dict(os.environ, self._environment({}), clear=True):
            return runpy.run_path(str(ROOT / "config/settings.py"))

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """Use the site's database, keys, password hashers and memory settings in this process."""
        ours = self.settings()
        changed = {name: ours[name] for name in ("SECRET_KEY", "SECRET_KEY_FALLBACKS", "MEMORYBANK")}
        changed["PASSWORD_HASHERS"] = global_settings.PASSWORD_HASHERS
        public_ids = import_module("memorybank.models.public_id")  # its name is a function's, too
        databases, before = connections.configure_settings(ours["DATABASES"]), connections["default"]
        with (
            unblocked(),
            patch.dict(os.environ, DJANGO_ALLOW_ASYNC_UNSAFE="1"),  # Playwright's event loop is in this thread
            patch.dict(connections.settings, databases),
            patch.object(public_ids, "_secret", cache(public_ids._read)),  # each site has a key of its own
            override_settings(**changed),
        ):
            del connections["default"]
            try:
                yield
            finally:
                connections["default"].close()
                connections["default"] = before

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        database = self.database_url or f"sqlite:///{self.data / 'memorybank.sqlite3'}"
        return {**clean, **NO_MODEL, "DATA_DIR": str(self.data), "DATABASE_URL": database, **self.env, **more}


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group (SIGKILL)."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(condition: Callable[[], object], what: str, site: Site) -> None:
    """Poll every tenth of a second; after PATIENCE seconds, fail with the output of the site's processes."""
    deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"in {PROCESS_TIMEOUT_SECONDS} s not {what}:\n{site.output()[-3000:]}"
        time.sleep(0.1)


@contextmanager
def site(data: Path, *, postgres: str = "", migrated: bool = True, **env: str) -> Iterator[Site]:
    """A site on SQLite in ``data``, or on a new database of the server ``postgres``; no tables unless ``migrated``."""
    with _database(postgres, migrated=migrated) as address:
        made = Site(data, env, address)
        try:
            if migrated and not postgres:
                prepared.migrated(data)
            yield made
        finally:
            made.stop()


@contextmanager
def _database(server: str, *, migrated: bool) -> Iterator[str]:
    if not server:
        yield ""
        return
    with _created(server, _migrated_template(server) if migrated else "") as address:
        yield address


@contextmanager
def _created(server: str, template: str = "") -> Iterator[str]:
    """Create a database, empty or as a copy of ``template``, and drop it at the end of the ``with`` block."""
    name = f"memorybank_test_{uuid4().hex[:12]}"
    source = f" TEMPLATE {template}" if template else ""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}{source}")  # type: ignore[call-overload]
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        try:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload]
        except psycopg.OperationalError as error:
            if "refused" not in str(error):  # a test's own server is gone with its databases
                raise


#: Drops the template databases at the end of the test run or of the process.
templates = ExitStack()
atexit.register(templates.close)


@cache
def _migrated_template(server: str) -> str:
    """The name of a migrated database, created once per process, because copying it is faster than migrating."""
    address = templates.enter_context(_created(server))
    with tempfile.TemporaryDirectory() as data:
        migrated = Site(Path(data), {}, address).manage("migrate", "--verbosity", "0")
    assert migrated.code == 0, migrated.err
    return urlsplit(address).path.removeprefix("/")
