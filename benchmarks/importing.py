"""Importing a file with the real command beside a plain executemany of the same rows into the same table.

Command: python -m benchmarks importing

Target: at most 60 times the plain insert, including the start of the interpreters. The plain insert gets finished rows,
checks nothing and creates neither chats nor projects: it is a lower bound, not what an import could reach.
"""

import json
import marshal
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from . import seeding
from .measuring import Measurement, seconds, show

ROOT = Path(__file__).resolve().parent.parent
#: Chats, and turns in each; a small file is mostly start-up.
CHAT_AND_TURN_COUNTS = ((100, 20), (1000, 20))
REPETITIONS = 3
PLAIN = """
import marshal, sqlite3, sys
names, rows = marshal.load(open(sys.argv[2], "rb"))
with sqlite3.connect(sys.argv[1]) as connection:
    marks = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO memorybank_output ({', '.join(names)}) VALUES ({marks})", rows)
"""


def measure() -> list[Measurement]:
    """Times, their ratio and turns a second, for chats one after the other and for chats all at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.mkdir()
        _manage(empty, "migrate", "--verbosity=0")
        rows = [
            row for chats, turns in CHAT_AND_TURN_COUNTS for row in _compared(empty, chats, turns, interleaved=False)
        ]
        return rows + _compared(empty, *CHAT_AND_TURN_COUNTS[-1], interleaved=True)


def _compared(empty: Path, chats: int, turns: int, *, interleaved: bool) -> list[Measurement]:
    file, count = empty.parent / "chats.jsonl", chats * turns
    _write(file, chats, turns, interleaved=interleaved)
    rows = _rows(empty, file)
    ours = partial(_manage, file=file)
    plain = partial(_plain, rows=rows)
    pairs = [(_timed(empty, ours), _timed(empty, plain)) for _ in range(REPETITIONS)]
    spent, least = (median(column) for column in zip(*pairs, strict=True))
    what = f"{count:,} turns" + (", chats interleaved" if interleaved else "")
    return [
        Measurement(f"{what}: import_chats, s", f"{spent:.2f}"),
        Measurement(f"{what}: plain executemany, s", f"{least:.3f}"),
        Measurement(f"{what}: times the plain one", f"{spent / least:.1f}", "≤ 60"),
        Measurement(f"{what}: turns a second", f"{count / spent:,.0f}"),
    ]


def _timed(empty: Path, action: Callable[[Path], object]) -> float:
    """Seconds of ``action`` on a copy of the empty, migrated database."""
    with tempfile.TemporaryDirectory(dir=empty.parent) as folder:
        data = Path(folder) / "data"
        shutil.copytree(empty, data)
        return seconds(lambda: action(data))


def _manage(data: Path, *args: object, file: Path | None = None) -> None:
    """Run ``manage.py`` on a data directory; with ``file``, import it."""
    env = {**os.environ, "DATA_DIR": str(data), "DATABASE_URL": f"sqlite:///{_database(data)}"}
    texts = ["import_chats", file] if file else args
    subprocess.run([sys.executable, "manage.py", *map(str, texts)], cwd=ROOT, env=env, check=True, capture_output=True)


def _plain(data: Path, *, rows: Path) -> None:
    subprocess.run([sys.executable, "-c", PLAIN, str(_database(data)), str(rows)], check=True)


def _database(data: Path) -> Path:
    return data / "memorybank.sqlite3"


def _rows(empty: Path, file: Path) -> Path:
    """What an import makes of ``file``, as a file that Python reads faster than any other."""
    with tempfile.TemporaryDirectory(dir=empty.parent) as folder:
        data = Path(folder) / "data"
        shutil.copytree(empty, data)
        _manage(data, file=file)
        with sqlite3.connect(_database(data)) as connection:
            fetched = connection.execute("SELECT * FROM memorybank_output ORDER BY id")
            names, rows = [column[0] for column in fetched.description], fetched.fetchall()
    path = file.with_suffix(".rows")
    path.write_bytes(marshal.dumps((names, rows)))
    return path


def _write(file: Path, chats: int, turns: int, *, interleaved: bool) -> None:
    draw = random.Random(1)
    places = [(chat, turn) for chat in range(chats) for turn in range(turns)]
    if interleaved:
        places.sort(key=lambda place: place[1])
    with file.open("w", encoding="utf-8") as lines:
        for number, (chat, _) in enumerate(places):
            lines.write(json.dumps(_line(chat, number, draw)) + "\n")


def _line(chat: int, number: int, draw: random.Random) -> dict[str, str]:
    at = seeding.NOW - timedelta(days=30) + timedelta(seconds=number)
    where = {"tenant": "acme", "project": "apollo", "chat": f"chat-{chat:05}", "user": draw.choice(seeding.SPEAKERS)}
    fields = {"question": seeding.sentence(draw), "answer": seeding.sentence(draw), "created_at": at.isoformat()}
    return {**where, **fields, "id": f"m-{number}"}


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())
