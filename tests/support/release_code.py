"""The code of the last release, from the history of git: its processes run beside those of this checkout."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

from .commands import ROOT
from .release_dump import DUMPS, newest_of
from .requirements import needs_history

NEEDED = ("manage.py", "config", "memorybank", "projects", "templates")


def released_code(place: Path) -> Path:
    """A directory in ``place`` with the code that the newest dump was made with."""
    commit = (DUMPS / newest_of("commit")).read_text().strip()
    needs_history(commit)
    archive = subprocess.run(["git", "archive", commit, *NEEDED], cwd=ROOT, capture_output=True, check=True).stdout
    code = place / "release"
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(code, filter="data")
    return code
