"""What many tests begin with, made once a run, whatever process asks first: a migrated database, the demo's data."""

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .commands import Ran, shell

#: Where it is kept; all processes of one run share it. Set as the run begins. Who makes sites outside of one, as the
#: benchmarks do, gets a fresh folder, which goes as the process ends.
folder: Path | None = None


def migrated(data: Path) -> None:
    """Fill the data directory ``data`` with an empty database that has every table."""
    _copied("migrated", _migrate, data)


def demo(data: Path) -> str:
    """Fill ``data`` with what ``demo --no-serve --print-block --extractive`` makes; what it printed."""
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
