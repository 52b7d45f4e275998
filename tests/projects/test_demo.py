"""The demo: a stranger's first minute, in processes of its own."""

import sqlite3
from pathlib import Path

from tests.commands import shell


def contents(data: Path) -> list[str]:
    """Everything the demo's database holds, as SQL."""
    connection = sqlite3.connect(data / "memorybank.sqlite3")
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def shown(out: str) -> str:
    """What it prints after the replay."""
    return out[out.index("What every new chat") :]


# One test, because the replay takes seconds and tests run in parallel.
def test_it_shows_sound_memory_without_secrets_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    first = shell("demo", "--no-serve", data=tmp_path)
    assert (first.code, first.err) == (0, "")
    for words in (
        "What every new chat of northwind-clinics/billing-migration is told:",
        "Project memory: notes from earlier chats.",
        "174 turns in 63 chats",
        "0 model calls",
        "http://127.0.0.1:8000/admin/",
        "password “demo”",
    ):
        assert words in first.out, words
    for planted in ("AKIA", "wJalr", "SYSTEM POLICY", "30 November", "Deirdre Molloy"):
        assert planted not in first.out, planted

    checked = shell("check_memory", data=tmp_path)
    assert (checked.code, checked.out) == (0, "4 projects checked: coverage, tree and budget hold.\n")

    before = contents(tmp_path)
    second = shell("demo", "--no-serve", data=tmp_path)
    assert (second.code, second.err) == (0, "")
    assert "The sample is loaded already." in second.out
    assert shown(second.out) == shown(first.out)
    assert contents(tmp_path) == before
