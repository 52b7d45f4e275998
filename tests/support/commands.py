"""Running commands: in this process (quick), or in one of its own (the exit code and every byte, as in a shell)."""

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

#: Variables of the site. A process of its own gets none from the test run, and these whatever a ``.env`` says.
OURS = ("LLM_", "SUMMARY_LLM_", "MEMORYBANK_", "DATABASE_URL", "DATA_DIR", "CELERY_BROKER_URL", "DEBUG", "SECRET_KEY")
PATIENCE = 900  # seconds; for what has hung, on however busy a machine
NO_MODEL = dict.fromkeys(("LLM_BASE_URL", "LLM_API_KEY", "SUMMARY_LLM_BASE_URL", "SUMMARY_LLM_API_KEY"), "")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        assert self.out, f"exit code {self.code}, nothing on standard output: {self.err}"
        return json.loads(self.out)


def run(*args: object) -> Ran:
    """Run a command here, on the test database."""
    out, err = StringIO(), StringIO()
    try:
        call_command(*map(str, args), stdout=out, stderr=err)
    except CommandError as error:
        return Ran(error.returncode, out.getvalue(), f"{err.getvalue()}{error}")
    return Ran(0, out.getvalue(), err.getvalue())


def shell(*args: object, data: Path, stdin: bytes | None = None, stderr: int = subprocess.PIPE, **env: str) -> Ran:
    """Run ``manage.py`` as a stranger would, with a data directory of its own and ``env``."""
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
        timeout=PATIENCE,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), (done.stderr or b"").decode())
