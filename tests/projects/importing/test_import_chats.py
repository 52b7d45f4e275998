"""import_chats: valid lines are recorded once, bad lines are reported, nothing is lost."""

import json
import os
import pty
import re
import tempfile
import termios
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import DataError, OperationalError, connection
from django.test import TestCase
from django.utils.timezone import now

from memorybank import services
from memorybank.models import Bank, Chat, Output
from projects.importing.service import BATCH_LINES
from projects.models import Conversation, Membership, Project, Role, Tenant
from tests.support import prepared
from tests.support.commands import Ran, run, shell

GOOD = {
    "tenant": "acme",
    "project": "apollo",
    "chat": "c1",
    "user": "ann",
    "question": "We chose Postgres 16.",
    "answer": "Noted.",
    "created_at": "2026-03-02T10:00:00Z",
}


class ImportCase(TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, *lines: object, name: str = "chats.jsonl") -> Path:
        """A file of lines: mappings are written as JSON, bytes and text as they are."""
        path = self.folder / name
        path.write_bytes(b"\n".join(_bytes(line) for line in lines) + b"\n")
        return path

    def take(self, *lines: object, options: Iterable[str] = ()) -> Ran:
        return run("import_chats", self.file(*lines), *options)

    def assert_bad(self, line: object, words: str) -> None:
        """The line is reported by number with this message, in one line; the valid lines around it are recorded."""
        ran = self.take(GOOD, line, {**GOOD, "question": "Billing is Priya's."})
        complaints = [line for line in ran.err.splitlines() if line.startswith("line ")]
        self.assertEqual(len(complaints), 1, ran.err)
        self.assertTrue(complaints[0].startswith("line 2: "), complaints)
        self.assertIn(words, complaints[0])
        self.assertLess(len(complaints[0]), 250)
        self.assertEqual(ran.code, 1)
        self.assertEqual(Output.objects.count(), 2)


def _bytes(line: object) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode("utf-8", "surrogatepass")


class TranscriptTests(ImportCase):
    """A name in a text is a speaker only with --transcript, and never another member's."""

    TALK = {**GOOD, "question": "Caroline: I went there.", "answer": "Melanie: So did I."}

    def test_it_leaves_names_in_texts_alone(self) -> None:
        self.take(self.TALK)
        output = Output.objects.get()
        self.assertEqual((output.question, output.said_by, output.answered_by), ("Caroline: I went there.", "", ""))

    def test_it_asks_whether_talk_between_people_is_a_transcript(self) -> None:
        talk = [{**self.TALK, "user": "Caroline", "id": f"t{number}"} for number in range(12)]
        self.assertIn("--transcript", self.take(*talk).err)
        self.assertNotIn("--transcript", self.take(*talk, options=["--transcript"]).err)
        self.assertNotIn("--transcript", self.take(*({**GOOD, "id": f"g{number}"} for number in range(12))).err)

    def test_it_takes_the_speakers_of_a_transcript(self) -> None:
        self.take(self.TALK, options=["--transcript"])
        output = Output.objects.get()
        self.assertEqual((output.author, output.said_by, output.question), ("ann", "Caroline", "I went there."))
        self.assertEqual((output.answered_by, output.answer), ("Melanie", "So did I."))

    def test_who_writes_in_her_own_name_is_not_quoted(self) -> None:
        self.take({**self.TALK, "user": "Caroline"}, options=["--transcript"])
        self.assertEqual((Output.objects.get().said_by, Output.objects.get().question), ("", "I went there."))

    def test_nobody_is_quoted_who_can_write_herself(self) -> None:
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        priya = User.objects.create_user("priya", first_name="Priya", last_name="Raman")
        Membership.objects.create(tenant=tenant, user=priya, role=Role.MEMBER)
        for name in ("priya", "PRIYA", "Priya Raman"):
            self.take({**GOOD, "question": f"{name}: I approve.", "id": name}, options=["--transcript"])
        self.assertEqual(set(Output.objects.values_list("said_by", "author")), {("", "ann")})


class TestGoodFiles(ImportCase):
    def test_it_creates_what_is_missing_and_leaves_memory_off(self) -> None:
        ran = self.take(GOOD, {**GOOD, "project": "zeus"}, {**GOOD, "tenant": "globex"}, options=["--json"])
        self.assertEqual(ran.json, {"lines": 3, "recorded": 3, "known": 0, "bad": 0, "projects": 3})
        self.assertEqual((ran.code, ran.err), (0, ""))
        self.assertEqual(Tenant.objects.count(), 2)
        self.assertEqual(Project.objects.count(), 3)
        self.assertFalse(Bank.objects.filter(enabled=True).exists())

    def test_the_same_file_twice_changes_nothing(self) -> None:
        lines = [GOOD, GOOD, {**GOOD, "id": "m-1"}, {**GOOD, "question": "Another."}]
        self.assertEqual(self.take(*lines, options=["--json"]).json["recorded"], 4)
        before = [list(model.objects.values()) for model in (Output, Chat, Bank)]
        again = self.take(*lines, options=["--json"]).json
        self.assertEqual((again["recorded"], again["known"]), (0, 4))
        self.assertEqual([list(model.objects.values()) for model in (Output, Chat, Bank)], before)

    def test_every_field_arrives(self) -> None:
        tool = {"role": "tool", "content": "42 rows"}
        self.take({**GOOD, "id": "m-1", "status": "blocked", "title": "Billing", "messages": [tool]})
        output = Output.objects.select_related("chat").get()
        self.assertEqual((output.key, output.status, output.messages), ("m-1", "blocked", [tool]))
        self.assertEqual((output.chat.key, output.chat.title, output.author), ("c1", "Billing", "ann"))
        self.assertEqual(output.created_at.isoformat(), "2026-03-02T10:00:00+00:00")

    def test_a_chat_is_named_after_its_first_message_that_is_answered(self) -> None:
        long = {**GOOD, "chat": "c2", "question": "\n " + "Which database? " * 9 + "\nA second line."}
        failed = {**GOOD, "status": "error", "question": "Who failed?"}
        self.take(failed, GOOD, {**GOOD, "question": "And who has it?"}, long, {**GOOD, "chat": "c3"})
        self.take(
            {**GOOD, "chat": "c3", "title": "Named later"},
            {**GOOD, "chat": "c4"},
            {**GOOD, "chat": "c4", "title": "Named"},
        )
        titles = dict(Chat.objects.values_list("key", "title"))
        self.assertEqual((titles["c1"], titles["c3"], titles["c4"]), (GOOD["question"], GOOD["question"], "Named"))
        self.assertTrue(titles["c2"].startswith("Which database?") and len(titles["c2"]) <= 80)

    def test_erasing_a_turn_takes_its_title_for_good_also_when_it_is_imported_again(self) -> None:
        lines = [{**GOOD, "id": "m-1"}, {**GOOD, "id": "m-2", "question": "Another."}]
        self.take(*lines)
        services.erase(Bank.objects.get(), output=Output.objects.get(key="m-1").pk, actor="ann")
        self.take(*lines)
        self.assertEqual(Chat.objects.get().title, "Another.")

    def test_enable_switches_on_the_projects_of_the_file_and_no_others(self) -> None:
        self.take(GOOD)
        self.take({**GOOD, "project": "zeus"}, options=["--enable"])
        self.assertEqual([p.path for p in Project.objects.filter(bank__enabled=True)], ["acme/zeus"])
        bank = Project.objects.get(slug="zeus").bank
        self.assertEqual(bank.disclosure_accepted_by, "command line")

    def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_no_matter(self) -> None:
        ran = self.take(b"\xef\xbb\xbf" + _bytes(GOOD) + b"\r", b"", b"  ", {**GOOD, "chat": "c2"}, options=["--json"])
        self.assertEqual((ran.code, ran.json["recorded"]), (0, 2))

    def test_line_numbers_count_blank_lines(self) -> None:
        self.assertIn("line 3: not valid JSON", self.take(GOOD, "", "{").err)


class TestBadLines(ImportCase):
    def test_it_names_what_is_no_json_object(self) -> None:
        for line, words in [
            ("not json", "not valid JSON at column 1."),
            ('{"tenant": "acme"', "not valid JSON at column"),
            ("[1]", "not a JSON object."),
            ('{"tenant": ' + "9" * 6000 + "}", "not valid JSON."),
            ("[" * 100_000, "not valid JSON."),
            (b'{"tenant": "\xff"}', "not valid UTF-8."),
        ]:
            with self.subTest(line=line[:20]):
                self.assert_bad(line, words)

    def test_it_names_the_field_that_is_missing_unknown_or_of_the_wrong_type(self) -> None:
        without = {name: value for name, value in GOOD.items() if name != "user"}
        for line, words in [
            (without, "user: is missing."),
            ({**GOOD, "colour": "red"}, "colour: unknown field."),
            ({**GOOD, "user": None}, "user: must be text, not NoneType."),
            ({**GOOD, "chat": 7}, "chat: must be text, not int."),
            ({**GOOD, "question": ["x"]}, "question: must be text, not list."),
            ({**GOOD, "messages": "x"}, "messages: must be a list"),
            ({**GOOD, "tenant": "Acme Ltd"}, "tenant: “Acme Ltd” is not a slug."),
            ({**GOOD, "project": 5}, "project: “5” is not a slug."),
        ]:
            with self.subTest(words=words):
                self.assert_bad(line, words)

    def test_it_refuses_times_that_are_missing_naive_impossible_or_in_the_future(self) -> None:
        without = {name: value for name, value in GOOD.items() if name != "created_at"}
        future = (now() + timedelta(days=1)).isoformat()
        for line, words in [
            (without, "created_at: is missing."),
            ({**GOOD, "created_at": "2026-03-02T10:00:00"}, "created_at: has no time zone"),
            ({**GOOD, "created_at": future}, "is in the future."),
            ({**GOOD, "created_at": "yesterday"}, "“yesterday” is not an ISO 8601 time"),
            ({**GOOD, "created_at": 1772445600}, "is not an ISO 8601 time"),
            ({**GOOD, "created_at": "2026-02-30T10:00:00Z"}, "is not an ISO 8601 time"),
            ({**GOOD, "created_at": "0001-01-01T00:00:00+14:00"}, "is before 1970."),
        ]:
            with self.subTest(words=words):
                self.assert_bad(line, words)

    def test_a_message_imported_while_it_was_pending_is_completed_by_the_next_import(self) -> None:
        for line in ({"status": "pending", "answer": ""}, {}, {"status": "pending", "answer": ""}):
            self.take({**GOOD, "id": "m-1", **line})
        output = Output.objects.get()
        self.assertEqual((output.status, output.answer, output.chat.pending_outputs), ("ok", GOOD["answer"], 1))

    def test_it_refuses_an_empty_chat_key_and_an_unknown_status(self) -> None:
        self.assert_bad({**GOOD, "chat": " "}, "chat: must not be empty.")
        self.assert_bad(
            {**GOOD, "status": "weird"},
            "status: must be one of ok, error, blocked, cancelled, stopped, pending.",
        )

    def test_it_refuses_what_is_too_long_and_says_how_long_it_may_be(self) -> None:
        self.assert_bad({**GOOD, "question": "x" * 10_000_000}, "characters, at most 8,000,000 are allowed.")
        self.assert_bad({**GOOD, "answer": "x" * 1_000_001}, "answer: 1,000,001 characters, at most 1,000,000")
        self.assert_bad({**GOOD, "chat": "x" * 201}, "chat: 201 characters, at most 200")

    def test_it_never_repeats_what_was_said_in_a_chat(self) -> None:
        ran = self.take({**GOOD, "question": "hunter2 is my password", "status": "weird"})
        self.assertNotIn("hunter2", ran.err + ran.out)

    def test_strict_stops_at_the_first_bad_line_and_keeps_what_came_before(self) -> None:
        ran = self.take(GOOD, "{", {**GOOD, "question": "later"}, options=["--strict"])
        self.assertEqual(ran.code, 1)
        self.assertIn("line 2: not valid JSON", ran.err)
        self.assertIn("Nothing after it was read.", ran.err)
        self.assertEqual([output.question for output in Output.objects.all()], [GOOD["question"]])

    def test_it_counts_what_was_bad(self) -> None:
        ran = self.take(GOOD, "{", options=["--json"])
        self.assertEqual(ran.json, {"lines": 2, "recorded": 1, "known": 0, "bad": 1, "projects": 1})


class TestBatches(ImportCase):
    """Lines are recorded in batches of a thousand, and one failing line does not affect the others."""

    def lines(self, number: int) -> list[dict[str, str]]:
        return [
            {**GOOD, "chat": f"c{n % 7}", "project": f"p{n % 2}", "question": f"Number {n}."} for n in range(number)
        ]

    def taken(self, lines: list[Any], error: type[Exception], *options: str) -> Ran:
        """Import while the database raises this error for every line that contains “poison”."""

        def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            if sql.startswith("INSERT") and any("poison" in str(value) for value in params):
                raise error("This poison is in no report.")
            return execute(sql, params, many, context)

        with connection.execute_wrapper(refuse):
            return self.take(*lines, options=["--json", *options])

    def test_more_lines_than_a_batch_are_all_recorded_each_chat_in_the_order_of_the_file(self) -> None:
        ran = self.take(*self.lines(2 * BATCH_LINES + 100), options=["--json"])
        self.assertEqual(ran.json["recorded"], 2 * BATCH_LINES + 100)
        for chat in Chat.objects.all():
            numbers = [int(output.question.strip("Number .")) for output in chat.outputs.order_by("pk")]
            self.assertEqual(numbers, sorted(numbers))
            self.assertEqual(chat.pending_outputs, len(numbers))

    def test_lines_too_long_for_one_batch_are_recorded_in_several(self) -> None:
        ran = self.take(*[{**GOOD, "id": str(n), "answer": "x" * 900_000} for n in range(20)], options=["--json"])
        self.assertEqual(ran.json["recorded"], 20)

    def test_a_line_that_the_database_refuses_is_named_and_the_others_are_recorded(self) -> None:
        lines = self.lines(20)
        lines[7]["question"] = "Some poison."
        ran = self.taken(lines, DataError)
        self.assertEqual((ran.code, ran.json["recorded"], ran.json["bad"]), (1, 19, 1))
        self.assertIn("line 8: the database cannot hold it.", ran.err)
        self.assertNotIn("poison", ran.err)

    def test_a_failing_database_is_reported_with_the_line_and_what_came_before_stays(self) -> None:
        lines = [{**line, "project": "apollo"} for line in self.lines(20)]
        lines[7]["question"] = "Some poison."
        ran = self.taken(lines, OperationalError)
        self.assertEqual(ran.code, 1)
        self.assertIn("at line 8", ran.err)
        self.assertEqual(Output.objects.count(), 7)

    def test_strict_stops_at_what_the_database_refuses(self) -> None:
        lines = [{**line, "project": "apollo"} for line in self.lines(20)]
        lines[7]["question"] = "Some poison."
        ran = self.taken(lines, DataError, "--strict")
        self.assertIn("line 8: ", ran.err)
        self.assertEqual(Output.objects.count(), 7)

    def test_a_chat_belongs_to_the_member_who_began_it(self) -> None:
        project = Project.objects.open(Tenant.objects.create(slug="acme", name="Acme"), "apollo", "Apollo")
        for name in ("ann", "ben"):
            user = User.objects.create_user(name)
            Membership.objects.create(user=user, tenant=project.tenant, role=Role.MEMBER)
        by = {"stranger": {**GOOD, "user": "zoe"}, "ann": GOOD, "ben": {**GOOD, "user": "ben"}}
        self.take(by["stranger"], by["ben"], by["ann"], {**by["stranger"], "chat": "c2"})
        self.take({**GOOD, "id": "1"}, {**GOOD, "chat": "c3"})
        owners = Conversation.objects.values_list("chat__key", "owner__username")
        self.assertEqual(dict(owners), {"c1": "ben", "c3": "ann"})

    def test_times_far_from_greenwich_are_recorded(self) -> None:
        self.take({**GOOD, "created_at": "2026-03-02T10:00:00+23:59"})
        self.assertEqual(Output.objects.get().created_at.isoformat(), "2026-03-01T10:01:00+00:00")

    def test_the_progress_bar_counts_the_bytes_of_the_file(self) -> None:
        file = self.file(*[{**GOOD, "id": str(n)} for n in range(2 * BATCH_LINES)])
        shown = _on_a_terminal("import_chats", file, data=self.folder)
        reached = [int(percent) for percent in re.findall(r"(\d+)%", shown)]
        self.assertEqual((reached[0], reached[-1]), (0, 100))
        self.assertTrue(any(40 < item < 60 for item in reached), reached)


def _on_a_terminal(*args: object, data: Path) -> str:
    """The standard error of a command on a terminal, with each update of its progress bar."""
    prepared.migrated(data)
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (24, 80))
    os.set_blocking(terminal, False)
    try:
        ran = shell(*args, data=data, stderr=end, TQDM_MININTERVAL="0")
        output_text = os.read(terminal, 4096).decode()  # a terminal holds no more
    finally:
        os.close(terminal), os.close(end)
    assert ran.code == 0, output_text
    return output_text


class TestFiles(ImportCase):
    def test_a_file_that_is_not_there_or_is_a_directory_is_a_usage_error_with_its_name(self) -> None:
        for path, words in [(self.folder / "none.jsonl", "No such file"), (self.folder, "directory")]:
            with self.subTest(path=path):
                ran: Any = run("import_chats", path)
                self.assertEqual(ran.code, 2)
                self.assertIn(str(path), ran.err)
                self.assertIn(words, ran.err)
                self.assertEqual(len(ran.err.strip().splitlines()), 1)

    def test_an_empty_file_is_nothing_to_do(self) -> None:
        self.assertEqual(self.take(b"", options=["--json"]).json["lines"], 0)
