"""Shared test data: a migrated database and the demo's data, made once per run by the first process that needs it."""

import atexit
import fcntl
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .commands import Ran, shell
from .requirements import IS_CI

#: The folder of the data, which all processes of a test run share. Set at the start of the run. Outside a test run, as
#: in benchmarks, a temporary folder is used and deleted at the end of the process.
folder: Path | None = None
#: Turns of the demo in an everyday run: four weeks, whose first days were rolled up.
TURN_COUNT = 60
#: What ``demo --extractive`` does, for the first turns of one project.
BEGINNING = f"""
from memorybank import llm
from projects.importing import demo
from projects.importing.replay import replay
lines = demo.load_sample()
demo.create_people(lines)
newest = max(lines, key=lambda line: line.output.created_at).path
with llm.using("summary", None):
    replay([line for line in lines if line.path == newest][:{TURN_COUNT}], step=demo.REPLAY_STEP, prepare=demo.prepare)
"""


def migrated(data: Path) -> None:
    """Fill the data directory ``data`` with a migrated, empty database."""
    _copied("migrated", _migrate, data)


def demo(data: Path) -> None:
    """Fill ``data`` with the demo's data: in CI all of it, elsewhere the first weeks of the project with the newest
    turn.
    """
    if IS_CI:
        printed_by_demo(data)
    else:
        _copied("beginning_of_demo", _replay_beginning, data)


def printed_by_demo(data: Path) -> str:
    """Fill ``data`` with all of the demo's data; return what its command printed."""
    _copied("demo", _replay_all, data)
    return (data / "printed").read_text()


def _migrate(data: Path) -> None:
    _sound(shell("migrate", "--verbosity", "0", data=data))


def _replay_all(data: Path) -> None:
    migrated(data)
    (data / "printed").write_text(_sound(shell("demo", "--no-serve", "--print-block", "--extractive", data=data)).out)


def _replay_beginning(data: Path) -> None:
    migrated(data)
    _sound(shell("shell", "--verbosity", "0", "-c", BEGINNING, data=data))


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
