"""Shared test data: a migrated database and the demo's data, made once per run by the first process that needs it."""

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .commands import Ran, shell

#: The folder of the data, which all processes of a test run share. Set at the start of the run. Outside a test run, as
#: in benchmarks, a temporary folder is used and deleted at the end of the process.
folder: Path | None = None


def migrated(data: Path) -> None:
    """Fill the data directory ``data`` with a migrated, empty database."""
    _copied("migrated", _migrate, data)


def demo(data: Path) -> str:
    """Fill ``data`` with the result of ``demo --no-serve --print-block --extractive``; return the command's output."""
    _copied("demo", _replay, data)
    return (data / "printed").read_text()


def _migrate(data: Path) -> None:
    _sound(shell("migrate", "--verbosity", "0", data=data))


def _replay(data: Path) -> None:
    migrated(data)
    (data / "printed").write_text(_sound(shell("demo", "--no-serve", "--print-block", "--extractive", data=data)).out)


def _sound(ran: Ran) -> Ran:
    assert (ran.code, ran.err) == (0, "")
    return ran


def _copied(name: str, make: Callable[[Path], None], data: Path) -> None:
    shared = folder or _own()
    original = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not original.exists():
            unready = shared / f"{name}.unready"
            shutil.rmtree(unready, ignore_errors=True)
            make(unready)
            unready.rename(original)
    shutil.copytree(original, data, dirs_exist_ok=True)


@cache
def _own() -> Path:
    made = tempfile.mkdtemp(prefix="memorybank-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
