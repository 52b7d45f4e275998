"""The demo in separate processes: a newcomer's first minute."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.support import prepared
from tests.support.commands import shell
from tests.support.own_site import Site
from tests.support.requirements import only_in_ci


def contents(data: Path) -> list[str]:
    """The whole demo database as SQL."""
    connection = sqlite3.connect(data / "memorybank.sqlite3")
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def after_replay(out: str) -> str:
    """The output after the replay."""
    return out[out.index("Memory in every new chat") :]


#: Decisions of the sample that were changed: the old wording and the newest.
CHANGED = {
    "northwind-clinics/billing-migration": (
        ("Go-live is planned for 12 May", "go-live moves again, from 26 May to 9 June"),
        ("go-live moves from 12 May to 26 May", "instead of 26 May"),
        ("will use MySQL 8", "replacing the earlier choice of MySQL 8"),
        ("0.19 euro per transaction", "0.14 euro per transaction with a minimum of 40,000 a month (before: 0.19)"),
        ("7 years for invoices", "invoices 10 years (replacing 7)"),
    ),
    "northwind-clinics/patient-app": (
        ("Closed beta starts 20 April", "closed beta on 5 May instead of 20 April"),
        ("iOS 15 and Android 8 as minimum", "raise minimum ios from 15 to 16"),
        ("Dokumente 30 Tage auf dem Gerät", "14 statt 30 Tage"),
    ),
    "harbor-robotics/gripper-v2": (
        ("payload 3 kg", "payload is 2.5 kg instead of 3 kg"),
        ("design freeze 17 April", "design freeze moves from 17 April to 8 May"),
        ("Kitahama Seiki KS-22B at €84.00", "before: Kitahama's KS-22B at €84.00"),
        ("stay with CANopen", "EtherCAT instead of CANopen"),
        ("Series start stays on 1 September", "from 1 September to 15 September"),
    ),
    "harbor-robotics/trade-fair": (
        ("booth B4-112 with", "B6-031, not B4-112"),
        ("Budget 38,000", "from 38,000 to 44,500"),
    ),
}


# One test, because the replay takes seconds and tests run in parallel.
@pytest.mark.long
@only_in_ci
def test_it_shows_sound_memory_without_secrets_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    first = prepared.printed_by_demo(tmp_path)
    for words in (
        "Memory in every new chat of northwind-clinics/billing-migration:",
        "Notes for the message “Who is our contact at Paywright?” only:",
        "Oliver Stannard, their account manager",
        "Project memory: each line is its author's word",
        "175 turns in 64 chats",
        "0 model calls",
        "\n50 %  ",
        "billing-migration/settings/costs",
        "No model is connected",
        "password “demo”",
    ):
        assert words in first, words
    for planted in ("AKIA", "wJalr", "SYSTEM POLICY", "30 November", "Deirdre Molloy"):
        assert planted not in first, planted

    demo = Site(tmp_path, {"DEBUG": "true"})
    checked = demo.call("check_memory")
    assert (checked.code, checked.out) == (0, "4 projects checked: coverage, tree, budget and audit log hold.\n")

    answers = demo.ask("SELECT cited, memory_tokens, recalled_tokens FROM projects_answercontext")
    assert len(answers) == 3
    for cited, *tokens in answers:
        assert json.loads(cited) and all(tokens), "an answer that shows no memory"

    for project, changes in CHANGED.items():
        output_text = demo.call("show_memory", project, "--budget", "32000").out
        for old, newest in changes:
            assert old not in output_text and newest in output_text, (old, newest)

    before = contents(tmp_path)
    second = shell("demo", "--no-serve", "--print-block", data=tmp_path)
    assert (second.code, second.err) == (0, "")
    assert "The sample is loaded already." in second.out
    assert after_replay(second.out) == after_replay(first)
    assert contents(tmp_path) == before
