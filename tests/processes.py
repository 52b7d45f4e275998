"""Real processes of the site, each test with databases and folders of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.requirements import POSTGRES, need_postgres

ROOT = Path(__file__).parent.parent


class Site:
    """The site as an operator runs it: commands and a worker, by environment variables alone."""

    def __init__(self, **environment: str) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("LLM_", "SUMMARY_", "MEMORYBANK_"))}
        self.environment = {**inherited, **environment}

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A process that goes on while the test does; in a group of its own, so that it can be killed whole."""
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str) -> str:
        """What ``manage.py`` printed; a failure is the test's failure, with its words."""
        process = self.start("manage.py", *command)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, f"{command}: {out}{err}"
        return out

    def json(self, *command: str) -> Any:
        """What ``manage.py … --json`` printed."""
        return json.loads(self.run(*command, "--json"))


@contextmanager
def sqlite(folder: Path) -> Iterator[str]:
    """A new SQLite file."""
    yield f"sqlite:///{folder / 'test.sqlite3'}"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A new PostgreSQL database, dropped afterwards whoever is still connected."""
    need_postgres()
    name = f"mb_{uuid4().hex[:12]}"
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        try:
            yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


def log_of(chats: int, turns: int = 3, projects: int = 3) -> str:
    """Chats long past, in several projects, as an import file."""
    rows = [
        {
            "tenant": "acme",
            "project": f"p{chat % projects}",
            "chat": f"c{chat}",
            "user": "anna",
            "question": f"We decided that crane {chat}-{turn} is delivered to Hamburg on 14 May and costs 4,{chat:03} euros.",
            "answer": "Noted.",
            "created_at": f"2026-05-{1 + chat % 27:02}T10:{turn:02}:00Z",
        }
        for chat in range(chats)
        for turn in range(turns)
    ]
    return "\n".join(json.dumps(row) for row in sorted(rows, key=lambda row: str(row["created_at"])))
