"""A PostgreSQL server of a test's own, to be restarted and, on a disk of its own, to be left without space.

If the tests run as root, it runs as "nobody", because PostgreSQL refuses root. The disk is a tmpfs that only the server
sees: in a namespace of its own, which needs no privilege on most Linux systems.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from .ports import free_port

USER = "nobody" if os.geteuid() == 0 else None
NAMESPACE = ("unshare", "--user", "--mount", "--map-current-user", "--keep-caps")
START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose files are in ``folder/data``; ``within`` is the command that enters its namespace."""

    programs: Path
    folder: Path
    port: int
    options: str = ""
    within: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The address of its database ``postgres``."""
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def create(self) -> None:
        options = ["-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
        small_log = ["--wal-segsize=1"] if self.within else []
        self._run(self.programs / "initdb", "-D", self.data, *options, *small_log)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {self.options}"
        log = ("-l", self.folder / "log")
        self._run(self.programs / "pg_ctl", "-D", self.data, "-w", "-t", START_SECONDS, *log, "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: "fast" ends all sessions, "immediate" also leaves its files to be recovered at the next start."""
        self._run(self.programs / "pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def answers(self) -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(self.address, connect_timeout=5):
            return True
        return False

    def is_running(self) -> bool:
        return self._run(self.programs / "pg_ctl", "-D", self.data, "status", check=False) == 0

    def recover(self) -> bool:
        """Wait until it answers, and start it if it has stopped by itself; return whether it had."""
        deadline, stopped = time.monotonic() + START_SECONDS, False
        while not self.answers():
            assert time.monotonic() < deadline, f"{self.address} does not answer"
            if not self.is_running():
                self.start()
                stopped = True
            time.sleep(0.1)
        return stopped

    def fill_disk(self, *, with_log: bool) -> None:
        """Leave no space for another row; ``with_log`` writes until its log finds no room either, and it stops."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            self._run("sh", "-c", f"cat /dev/zero >{self._ballast}", check=False)
            with suppress(psycopg.OperationalError):
                while with_log:
                    connection.execute("SELECT pg_logical_emit_message(true, 'tests', repeat('x', 100000))")

    def free_disk(self) -> None:
        self._run("rm", "-f", self._ballast)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    def _run(self, *command: object, check: bool = True) -> int:
        return subprocess.run(
            [*self.within, *map(str, command)],
            check=check,
            user=USER,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=None if check else subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        ).returncode


def programs() -> Path | None:
    """The directory of the newest PostgreSQL server's programs; Debian's are not on the path."""
    on_path = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = Path(on_path) if on_path else installed[-1] if installed else None
    return found.resolve().parent if found else None


def has_namespaces() -> bool:
    """Whether a disk can be mounted for a server alone."""
    if not shutil.which("nsenter") or not shutil.which("unshare"):
        return False
    mount = (*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt")
    return subprocess.run(mount, check=False, user=USER, cwd="/", stderr=subprocess.DEVNULL).returncode == 0


@contextmanager
def own_postgres(programs: Path, *, disk_megabytes: int = 0, options: str = "") -> Iterator[Server]:
    """Start a new, empty server, on a disk of this size if one is given; stop and delete it at the end."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as place:
        folder = Path(place)
        if USER:
            shutil.chown(folder, USER)
        with _disk(folder, disk_megabytes) as within:
            server = Server(programs, folder, free_port(), options, within)
            server.create()
            server.start()
            try:
                yield server
            finally:
                if server.is_running():
                    server.stop()


@contextmanager
def _disk(folder: Path, megabytes: int) -> Iterator[tuple[str, ...]]:
    """Mount a disk at ``folder`` in a namespace that lives as long as this block; the command that enters it."""
    if not megabytes:
        yield ()
        return
    mount = f"mount -t tmpfs -o size={megabytes}m tmpfs {folder} && echo mounted && exec cat"
    with subprocess.Popen(
        [*NAMESPACE, "sh", "-c", mount], user=USER, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin and holder.stdout
        assert holder.stdout.readline() == b"mounted\n"
        yield ("nsenter", f"--target={holder.pid}", "--user", "--mount", "--preserve-credentials", f"--wd={folder}")
        holder.stdin.close()
