"""A backup made under load is restored elsewhere, under a new secret key: what was erased since does not come back."""

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_site import gateway
from tests.support.own_site import Site, kill, site, wait_until
from tests.support.requirements import IS_CI, in_ci, needs_postgres

pytestmark = [pytest.mark.long, pytest.mark.own_servers]

PROJECT, LATER, LAST = "acme/apollo", "2026-03-05T09:00:00Z", "2026-03-06T09:00:00Z"
VAULT, CRANE, FERRY, ROPE = (
    "The vault of Lisbon opens in June.",
    "The crane of Marta is orange.",
    "The ferry to Ostend sails in March.",
    "The rope of order 17 has to be replaced by Friday.",
)
#: A chat, an author, and single turns are erased; what Tom said of the ferry stays.
ERASED = (VAULT, CRANE, ROPE)
OLD_KEY, NEW_KEY = "the first key of this site", "the second key of this site"


def line(chat: str, user: str, question: str, number: str) -> str:
    row = {"tenant": "acme", "project": "apollo", "created_at": "2026-03-02T09:00:00Z"}
    row |= {"chat": chat, "user": user, "question": question, "answer": "Noted.", "id": number}
    return f"{json.dumps(row)}\n"


CHAT_LINES = line("c1", "priya", VAULT, "1") + line("c2", "marta", CRANE, "2") + line("c2", "tom", FERRY, "3")
CHAT_LINES += line("c3", "tom", ROPE, "4")


def done(made: Site, *command: object, stdin: str = "") -> str:
    ran = made.call(*command, stdin=stdin)
    assert ran.code == 0, (command, ran)
    return ran.out


def loading(made: Site) -> "subprocess.Popen[bytes]":
    """Turns that go on coming in while the database is copied."""
    lines = made.data / "load.jsonl"
    lines.write_text(
        "".join(
            line(f"load-{n % 50}", "ann", f"Pallet {n} is in hall {n % 7}.", f"l{n}")
            for n in range(3000 if IS_CI else 300)
        )
    )
    return made.start("manage.py", "import_chats", lines)


def back_up(made: Site, to: Path) -> None:
    if made.database_url:
        subprocess.run(["pg_dump", "--format=custom", f"--file={to}", made.database_url], check=True)
        return
    with closing(sqlite3.connect(made.data / "memorybank.sqlite3")) as live, closing(sqlite3.connect(to)) as copy:
        live.backup(copy, pages=64, sleep=0.01)


def restore(made: Site, backup: Path) -> None:
    if made.database_url:
        subprocess.run(["pg_restore", "--no-owner", f"--dbname={made.database_url}", str(backup)], check=True)
    else:
        (made.data / "memorybank.sqlite3").write_bytes(backup.read_bytes())


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=in_ci)])
def test_an_old_backup_does_not_undo_erasures(tmp_path: Path, database: str) -> None:
    postgres, backup = needs_postgres() if database == "postgresql" else "", tmp_path / "backup"
    (tmp_path / "live").mkdir()
    (tmp_path / "restored").mkdir()
    with site(tmp_path / "live", postgres=postgres, SECRET_KEY=OLD_KEY) as live:
        done(live, "import_chats", "-", "--enable", stdin=CHAT_LINES)
        done(live, "run_memory", "--until-idle", "--now", LATER)
        load = loading(live)
        wait_until(lambda: live.ask("SELECT count(*) FROM memorybank_output")[0][0] > 4, "loaded", live)
        back_up(live, backup)
        assert load.wait() == 0
        done(live, "forget_memory", PROJECT, "--chat", "c1")
        done(live, "forget_memory", PROJECT, "--author", "marta")
        match = re.search(r"(?:output|turn) (\w+) of chat c3", done(live, "recall_memory", PROJECT, ROPE))
        assert match
        done(live, "forget_memory", PROJECT, "--output", match[1])
        receipts = done(live, "forget_memory", "--receipts")
        assert not any(word in receipts for word in ("Lisbon", "marta", "rope"))

    keys = {"SECRET_KEY": NEW_KEY, "SECRET_KEY_FALLBACKS": OLD_KEY}
    with site(tmp_path / "restored", postgres=postgres, migrated=False, **keys) as restored:
        restore(restored, backup)
        assert restored.call("migrate", "--check").code == 0
        done(restored, "check_memory")
        assert VAULT in done(restored, "show_memory", PROJECT)  # the backup knows nothing of the erasures
        replayed = json.loads(done(restored, "forget_memory", "--replay", "-", "--json", stdin=receipts))
        assert (replayed["taken"], replayed["erased"], replayed["turns"]) == (5, 3, 3)  # two turns have ids
        again = json.loads(done(restored, "forget_memory", "--replay", "-", "--json", stdin=receipts))
        assert (again["known"], again["taken"], again["erased"]) == (5, 0, 0)
        done(restored, "import_chats", "-", stdin=CHAT_LINES)  # a second import brings nothing back
        done(restored, "run_memory", "--until-idle", "--now", LAST)
        done(restored, "check_memory")
        exported = done(restored, "export_memory", PROJECT)
        assert FERRY in exported
        assert [text for text in ERASED if text in exported] == []
        for table in ("memorybank_output", "memorybank_fact", "memorybank_searchdocument", "memorybank_storedblock"):
            rows = str(restored.ask(f"SELECT * FROM {table}"))
            assert [text for text in ERASED if text in rows] == [], table


@in_ci
def test_a_program_goes_on_in_its_chats_after_the_key_was_changed(tmp_path: Path) -> None:
    """Known by its id, or by its messages alone."""
    with gateway(tmp_path, SECRET_KEY=OLD_KEY) as served_site:
        chats = {"named": {"X-Memory-Chat": "c-17"}, "unnamed": {}}
        messages: dict[str, list[dict[str, Any]]] = {name: [] for name in chats}

        def ask(name: str, question: str) -> None:
            messages[name].append({"role": "user", "content": f"{name}: {question}"})
            body = {"model": "m", "messages": messages[name]}
            status, _, answer = served_site.post("/v1/chat/completions", body, **chats[name])
            assert status == 200, answer
            messages[name].append(json.loads(answer)["choices"][0]["message"])

        for name in chats:
            ask(name, VAULT)
            ask(name, FERRY)
        kill(served_site.server)
        served_site.site.env |= {"SECRET_KEY": NEW_KEY, "SECRET_KEY_FALLBACKS": OLD_KEY}
        served_site.restart()
        for name in chats:
            ask(name, CRANE)
            ask(name, ROPE)
            turns = [turn for turn in served_site.turns() if turn["question"].startswith(f"{name}:")]
            assert len(turns) == 4
            assert len({turn["chat"] for turn in turns}) == 1
        assert not served_site.site.ask("SELECT 1 FROM memorybank_output WHERE set_aside")
