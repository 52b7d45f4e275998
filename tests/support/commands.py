"""Run commands in this process, which is fast, or in a new one, for the exit code and the complete output."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command

ROOT = Path(__file__).resolve().parent.parent.parent

#: Prefixes of the site's environment variables. New processes inherit none of them from the test run.
OURS = ("LLM_", "SUMMARY_LLM_", "MEMORYBANK_", "DATABASE_URL", "DATA_DIR", "CELERY_BROKER_URL", "DEBUG", "SECRET_KEY")
PROCESS_TIMEOUT_SECONDS = 900  # seconds; long enough for busy machines, and ends tests that hang
#: Seconds that a test waits for an element of a page in the browser before it fails.
ELEMENT_TIMEOUT_SECONDS = 120
NO_MODEL = dict.fromkeys(("LLM_BASE_URL", "LLM_API_KEY", "SUMMARY_LLM_BASE_URL", "SUMMARY_LLM_API_KEY"), "")


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a command: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        assert self.out, f"exit code {self.code}, nothing on standard output: {self.err}"
        return json.loads(self.out)


def run(*args: object) -> Ran:
    """Run a command in this process, on the test database."""
    out, err = StringIO(), StringIO()
    try:
        call_command(*map(str, args), stdout=out, stderr=err)
    except CommandError as error:
        return Ran(error.returncode, out.getvalue(), f"{err.getvalue()}{error}")
    return Ran(0, out.getvalue(), err.getvalue())


def shell(*args: object, data: Path, stdin: bytes | None = None, stderr: int = subprocess.PIPE, **env: str) -> Ran:
    """Run ``manage.py`` in a new process, with its own data directory and ``env``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ours = {"DATA_DIR": str(data), "DATABASE_URL": f"sqlite:///{data}/memorybank.sqlite3", "DEBUG": "true", **NO_MODEL}
    done = subprocess.run(
        [sys.executable, "manage.py", *map(str, args)],
        cwd=ROOT,
        env={**clean, **ours, **env},
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        timeout=PROCESS_TIMEOUT_SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), (done.stderr or b"").decode())
