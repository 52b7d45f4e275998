"""Every command: its output, its JSON, and a one-line error with the right exit code."""

import json
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.core.management import get_commands
from django.db import connection, transaction

from memorybank import services
from memorybank.models import Bank, Chat, Checkpoint, Entry, Event, Output
from memorybank.services import NewOutput, RunReport, public_id
from tests.support import prepared
from tests.support.cast import NOON, Cast, without_models
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, Ran, run, shell
from tests.support.long_chats import turns
from tests.support.openai_server import OpenAIServer
from tests.support.requirements import in_ci

OUR_COMMANDS = sorted(name for name, app in get_commands().items() if app in ("projects", "memorybank"))
ERASE = ["forget_memory", "--chat", "c1"]
LATER = "2026-03-02T13:00:00Z"


def model_at(url: str, **more: Any) -> dict[str, Any]:
    """MEMORYBANK with a summary model at ``url`` that is asked once."""
    backend = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
    options = {"BACKEND": backend, "MODEL": "m", "BASE_URL": url, "TIMEOUT": PROCESS_TIMEOUT_SECONDS, "MAX_RETRIES": 0}
    return {"LLMS": {"summary": {**options, **more}}}


@without_models
class CommandCase(Cast):
    @classmethod
    def tell(cls, text: str = "We chose Postgres 16 for billing.", chat: str = "c1", **more: Any) -> Output:
        """Record a pending turn."""
        fields = {"author": "bob", "question": text, "answer": "Noted.", "created_at": NOON, "now": NOON, **more}
        return services.record(cls.apollo.bank, chat_key=chat, **fields)

    def assert_refused(self, ran: Ran, words: str, code: int = 2) -> None:
        """The error is one line with this text, and the exit code is this one."""
        self.assertEqual(ran.code, code, ran.err)
        self.assertIn(words, ran.err)
        self.assertEqual(len(ran.err.strip().splitlines()), 1, ran.err)


class TestCompactChat(CommandCase):
    def test_it_shortens_a_chat_and_prints_what_its_model_is_sent(self) -> None:
        services.record_many(self.apollo.bank, turns(2_000, chat="c1", author="bob"))
        ran = run("compact_chat", "acme/apollo", "--chat", "c1", "--focus", "Postgres")
        self.assertEqual(ran.code, 0, ran.err)
        made = Checkpoint.objects.get()
        self.assertEqual(ran.out.strip(), made.text)
        self.assertIn(f"{made.tokens_before:,} → {made.tokens_after:,} tokens (extractive", ran.err)

    def test_it_says_in_one_line_why_not(self) -> None:
        self.tell()
        self.assert_refused(run("compact_chat", "acme/apollo", "--chat", "c1"), "This chat is already short", 1)
        self.assert_refused(run("compact_chat", "acme/apollo", "--chat", "c2"), "chat: there is none")
        self.assert_refused(run("compact_chat", "globex/zeus", "--chat", "c1"), "chat: there is none")

    def test_its_json_has_the_tokens_and_the_text(self) -> None:
        services.record_many(self.apollo.bank, turns(2_000, chat="c1", author="bob"))
        data = json.loads(run("compact_chat", "acme/apollo", "--chat", "c1", "--harder", "--json").out)
        self.assertEqual(set(data), {"tokens_before", "tokens_after", "method", "through", "text"})


class TestAnyCommand(CommandCase):
    def test_an_unknown_project_is_a_usage_error_that_says_which_half_is_unknown(self) -> None:
        for path, words in [
            ("acme/nope", "Tenant “acme” has no project “nope”."),
            ("nope/apollo", "There is no tenant “nope”."),
            ("apollo", "“apollo” is not of the form tenant/project."),
            ("acme/apollo/x", "has no project"),
        ]:
            for command in (["show_memory"], ["configure_memory"], ["check_memory"], ["export_memory"], ERASE):
                with self.subTest(path=path, command=command):
                    self.assert_refused(run(*command, path), words)
            self.assert_refused(run("run_memory", "--project", path), words)
            self.assert_refused(run("recall_memory", path, "Which database?"), words)

    def test_a_database_that_cannot_be_written_is_named(self) -> None:
        if connection.vendor != "sqlite":
            pytest.skip("other databases say so in their own words")
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = ON")
        try:
            ran = run("configure_memory", "acme/apollo", "--budget", 900)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("PRAGMA query_only = OFF")
        self.assert_refused(ran, "cannot be written: attempt to write a readonly database", code=1)
        self.assertEqual(Bank.objects.get(pk=self.apollo.bank.pk).max_tokens, 2000)


class TestRunMemory(CommandCase):
    def test_it_summarises_what_is_idle_and_reports_in_the_agreed_shape(self) -> None:
        self.switch_on(self.apollo)
        self.tell()
        report = run("run_memory", "--now", LATER, "--json").json
        self.assertEqual(list(report), list(RunReport().as_dict()))
        self.assertEqual((report["summarised"], report["due"], report["llm_calls"]), (1, 0, 0))

    def test_a_second_run_finds_nothing_to_do(self) -> None:
        self.switch_on(self.apollo)
        self.tell()
        run("run_memory", "--now", LATER)
        ran = run("run_memory", "--now", LATER, "--until-idle", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["llm_calls"]), (0, 0, 0))

    def test_now_governs_what_is_idle(self) -> None:
        self.switch_on(self.apollo)
        self.tell()
        self.assertEqual(run("run_memory", "--now", "2026-03-02T12:05:00Z", "--json").json["summarised"], 0)
        self.assertEqual(run("run_memory", "--now", "2026-03-02T13:11:00+01:00", "--json").json["summarised"], 1)

    def test_one_project_alone_leaves_the_others_waiting(self) -> None:
        for project in (self.apollo, self.zeus):
            self.switch_on(project)
            services.record(project.bank, chat_key="c", author="x", question="We chose Go.", created_at=NOON, now=NOON)
        run("run_memory", "--project", "acme/apollo", "--now", LATER)
        self.assertEqual([e.bank_id for e in Entry.objects.leaves()], [self.apollo.bank.pk])

    def test_times_without_a_zone_or_out_of_this_world_are_usage_errors(self) -> None:
        for text in ("2026-03-02T13:00:00", "2026-03-02", "now", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"):
            with self.subTest(text=text):
                self.assert_refused(run("run_memory", "--now", text), f"argument --now: “{text}”")


class TestRunMemoryWithABrokenModel(CommandCase):
    """Each failure prints a line that names what and where, and exits with 1; sentences stand in for the notes."""

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.tell()

    def assert_waits(self, ran: Ran, *words: str) -> None:
        self.assertEqual(ran.code, 1)
        for word in words:
            self.assertIn(word, ran.err)
        self.assertNotIn("Traceback", ran.err)
        leaf = Entry.objects.leaves().get(chat__key="c1")
        self.assertTrue(leaf.provisional and leaf.stale)
        self.assertEqual(services.find_violations(self.apollo.bank), [])

    def test_an_address_where_nobody_listens(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound, and never listening: the port is surely closed
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            with self.settings(MEMORYBANK=model_at(url)):
                self.assert_waits(run("run_memory", "--now", LATER), "1 failed and will be tried again", url, "refused")

    def test_a_server_that_fails_refuses_the_key_or_answers_rubbish(self) -> None:
        failures = {
            "500": "HTTP 500: The server had an error",
            "401": "HTTP 401: Incorrect API key provided",
            "badjson": "Unreadable answer",
        }
        for days, (mode, words) in enumerate(failures.items(), start=1):
            with (
                self.subTest(mode=mode),
                OpenAIServer(mode=mode) as server,
                self.settings(MEMORYBANK=model_at(server.base_url, API_KEY="hunter2")),
            ):
                ran = run("run_memory", "--now", (NOON + timedelta(days=days)).isoformat())
                self.assert_waits(ran, words)
                self.assertNotIn("hunter2", ran.err)

    def test_a_server_that_never_answers(self) -> None:
        with OpenAIServer(mode="hang") as server, self.settings(MEMORYBANK=model_at(server.base_url, TIMEOUT=0.3)):
            self.assert_waits(run("run_memory", "--now", LATER), "No answer within 0.3 s")

    def test_an_address_that_is_none(self) -> None:
        for days, url in enumerate(("ftp://127.0.0.1/v1", "nonsense"), start=1):
            with self.subTest(url=url), self.settings(MEMORYBANK=model_at(url)):
                self.assert_waits(run("run_memory", "--now", (NOON + timedelta(days=days)).isoformat()), url)

    def test_while_the_model_backs_off_it_makes_no_call_and_says_until_when(self) -> None:
        with OpenAIServer(mode="500") as server, self.settings(MEMORYBANK=model_at(server.base_url)):
            run("run_memory", "--now", LATER)
            ran = run("run_memory", "--now", LATER, "--json")
            self.assertEqual((server.calls, ran.json["llm_calls"]), (1, 0))
        self.assert_waits(ran, "1 chat waiting", "backs off until 2026-03-02T13:", "HTTP 500")

    def test_it_goes_on_once_the_model_is_back(self) -> None:
        with OpenAIServer(mode="500") as server, self.settings(MEMORYBANK=model_at(server.base_url)):
            run("run_memory", "--now", LATER)
            server.mode = "ok"
            ran = run("run_memory", "--now", "2026-03-02T15:00:00Z", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["llm_calls"]), (0, 1, 1))
        self.assertGreater(ran.json["prompt_tokens"], 0)


class TestShowMemory(CommandCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "We chose Postgres 16 for billing.", chat_key="c1")

    def test_it_prints_the_block_and_nothing_else_on_standard_output(self) -> None:
        ran = run("show_memory", "acme/apollo")
        self.assertEqual(ran.out, services.render(self.apollo.bank).text + "\n")
        self.assertRegex(ran.err, r"^\d+ of 2,000 tokens \(o200k_base\)\.\n$")

    def test_its_json_has_the_agreed_shape_and_cites_outputs(self) -> None:
        result = run("show_memory", "acme/apollo", "--json").json
        keys = ["block", "tokens", "budget", "recalled", "recalled_tokens", "encoding", "lines", "recalled_lines"]
        self.assertEqual(list(result), keys)
        self.assertEqual(result["tokens"], services.count_tokens(result["block"]))
        line = result["lines"][0]
        self.assertEqual(list(line), ["text", "speaker", "granularity", "period", "citations", "reported"])
        self.assertEqual((line["granularity"], line["period"]), ("conversation", "2026-03-02"))
        self.assertEqual(line["citations"], [Output.objects.get().pk])

    def test_it_renders_for_another_budget_and_without_a_chat(self) -> None:
        self.assertLessEqual(run("show_memory", "acme/apollo", "--budget", 40, "--json").json["tokens"], 40)
        self.assertEqual(run("show_memory", "acme/apollo", "--exclude-chat", "c1", "--json").json["block"], "")

    def test_with_a_question_it_prints_the_same_block_and_what_is_recalled(self) -> None:
        long = "The ferry sails to Lisbon every Tuesday at seven in the morning from the northern pier of the harbour."
        self.remember(self.apollo, "bob", long, chat_key="c2")
        silent = run("show_memory", "acme/apollo", "--budget", 40)
        result = run("show_memory", "acme/apollo", "--budget", 40, "--question", "When does the ferry to Lisbon sail?")
        block, _, recalled = result.out.partition("\n\n")
        self.assertEqual(block + "\n", silent.out)
        self.assertIn("ferry", recalled)
        self.assertRegex(result.err, r"^\d+ of 40 tokens \(o200k_base\)\.\n\d+ tokens recalled for the question\.\n$")

    def test_the_recall_budget_can_be_another_or_none(self) -> None:
        asked = ("show_memory", "acme/apollo", "--budget", 1, "--question", "What about billing?", "--json")
        result = run(*asked).json
        self.assertIn("Postgres 16", result["recalled"])
        self.assertEqual(result["recalled_tokens"], services.count_tokens(result["recalled"]))
        self.assertEqual(result["recalled_lines"][0]["citations"], [Output.objects.get().pk])
        self.assertEqual(run(*asked, "--recall", 0).json["recalled"], "")
        self.assert_refused(run(*asked, "--recall", 8001), "--recall")


class TestRecallMemory(CommandCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "We chose Postgres 16 for billing.", chat_key="c1")

    def test_it_prints_turns_and_facts_with_their_chat_and_day(self) -> None:
        ran = run("recall_memory", "acme/apollo", "What did we choose for billing?")
        self.assertRegex(
            ran.out, r"(?m)^  \d\.\d\d  output [a-z2-7]{13} of chat c1, 02 Mar 2026\n +bob: We chose Postgres 16"
        )
        self.assertRegex(ran.out, r"(?m)^  \d\.\d\d  fact [a-z2-7]{13} of chat c1, 02 Mar 2026\n +We chose Postgres 16")
        self.assertEqual(ran.err, "2 hits.\n")

    def test_its_json_has_the_agreed_shape(self) -> None:
        hits = run("recall_memory", "acme/apollo", "billing", "--top", 1, "--json").json["hits"]
        self.assertEqual(
            [list(hit) for hit in hits], [["kind", "chat", "text", "speaker", "score", "reported", "created_at"]]
        )

    def test_it_finds_a_turn_as_soon_as_its_chat_is_summarised_and_not_before(self) -> None:
        self.tell("The winch is in Bremen.", chat="c2")
        asked = ("recall_memory", "acme/apollo", "Where is the winch?", "--top", 1)
        self.assertNotIn("Bremen", run(*asked).out)
        services.summarise_now(self.apollo.bank, chat_key="c2", now=NOON)
        self.assertIn("Bremen", run(*asked).out)

    def test_it_leaves_a_chat_out_and_says_that_nothing_was_found(self) -> None:
        ran = run("recall_memory", "acme/apollo", "billing", "--exclude-chat", "c1")
        self.assertEqual((ran.code, ran.out, ran.err), (0, "", "0 hits.\n"))

    def test_it_says_when_the_bank_is_off(self) -> None:
        services.disable(self.apollo.bank, actor="alice")
        self.assertIn("Memory is off", run("recall_memory", "acme/apollo", "billing").err)

    def test_no_question_and_impossible_numbers_are_usage_errors(self) -> None:
        for question in ("", "  "):
            self.assert_refused(run("recall_memory", "acme/apollo", question), "QUESTION: must not be empty.")
        for top in ("0", "-1", "201", "many"):
            ran = run("recall_memory", "acme/apollo", "billing", f"--top={top}")
            self.assert_refused(ran, f"“{top}” is not a number of hits from 1 to 200")


class TestForgetMemory(CommandCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.said = cls.tell(title="Which database")
        cls.tell("The ferry to Lisbon sails every Tuesday.", author="alice", chat="c2")
        run("run_memory", "--now", LATER)

    def test_a_dry_run_says_what_would_go_and_erases_nothing(self) -> None:
        ran = run("forget_memory", "acme/apollo", "--author", "bob", "--dry-run", "--json")
        expected = {"id": None, "kind": "author", "asked_by": "command line", "dry_run": True, "turns": 1, "chats": 1}
        self.assertLessEqual(expected.items(), ran.json.items())
        self.assertEqual(Output.objects.count(), 2)
        self.assertEqual((ran.json["summaries_to_mend"], ran.json["calls"]), (0, 0))

    def test_it_erases_a_chat_a_person_or_a_turn_and_prints_the_receipt(self) -> None:
        for what in (["--chat", "c1"], ["--author", "bob"], ["--output", public_id(self.said.pk)]):
            with self.subTest(what=what), transaction.atomic():
                ran = run("forget_memory", "acme/apollo", *what)
                self.assertRegex(ran.out, r"asked by  command line\n(.*\n)+ +turns  1\n")
                self.assertNotIn("Postgres", ran.out + run("export_memory", "acme/apollo").out)
                self.assertIn("Lisbon", run("show_memory", "acme/apollo").out)
                transaction.set_rollback(True)

    def test_it_erases_everything(self) -> None:
        self.assertEqual(run("forget_memory", "acme/apollo", "--everything", "--json").json["turns"], 2)
        self.assertFalse(Chat.objects.exists() or Entry.objects.exists())

    def test_it_says_what_is_not_there_and_asks_for_one_thing(self) -> None:
        self.assert_refused(run("forget_memory", "acme/apollo", "--chat", "no"), "none with this key")
        self.assert_refused(run("forget_memory", "acme/apollo", "--author", "eve"), "no messages by this name")
        self.assert_refused(run("forget_memory", "acme/apollo", "--output", public_id(10**8)), "none with this id")
        self.assert_refused(run("forget_memory", "acme/apollo"), "is required")
        self.assert_refused(run("forget_memory", "acme/apollo", "--chat", "a", "--author", "b"), "not allowed with")

    def test_a_line_that_is_no_receipt_is_named(self) -> None:
        for line, words in [("[]", "no JSON object"), ("1", "no JSON object"), ("{}", "project"), ("{", "line 1")]:
            with self.subTest(line=line), TemporaryDirectory() as folder:
                path = Path(folder, "receipts.jsonl")
                path.write_text(line)
                self.assert_refused(run("forget_memory", "--replay", path), words)


class TestConfigureMemory(CommandCase):
    def test_it_shows_the_settings(self) -> None:
        result = run("configure_memory", "acme/apollo", "--json").json
        expected = {
            "enabled": False,
            "budget": 2000,
            "recall": 600,
            "personal": 200,
            "new_chats": False,
            "idle_minutes": 10,
            "timezone": "UTC",
            "focus": "",
            "monthly_cap": None,
            "keep_turns": None,
            "keep_memory": None,
        }
        self.assertEqual(result, expected)
        self.assertRegex(run("configure_memory", "acme/apollo").out, r"enabled  no\n +budget  2,000\n +recall  600\n")

    def test_it_changes_what_is_given_and_nothing_else(self) -> None:
        options = [
            "--budget",
            900,
            "--recall",
            0,
            "--idle-minutes",
            5,
            "--timezone",
            "Europe/Berlin",
            "--focus",
            "Dates.",
            "--keep-turns",
            90,
            "--keep-memory",
            0,
        ]
        result = run("configure_memory", "acme/apollo", *options, "--json").json
        self.assertEqual(
            result,
            {
                "enabled": False,
                "budget": 900,
                "recall": 0,
                "personal": 200,
                "new_chats": False,
                "idle_minutes": 5,
                "timezone": "Europe/Berlin",
                "focus": "Dates.",
                "monthly_cap": None,
                "keep_turns": 90,
                "keep_memory": None,
            },
        )
        self.assertEqual(run("configure_memory", "acme/apollo", "--focus", "", "--json").json["budget"], 900)

    def test_it_switches_on_and_off_and_writes_down_who_did(self) -> None:
        self.assertTrue(run("configure_memory", "acme/apollo", "--enable", "--json").json["enabled"])
        self.assertFalse(run("configure_memory", "acme/apollo", "--disable", "--json").json["enabled"])
        done = Event.objects.filter(bank=self.apollo.bank).order_by("pk").values_list("actor", "action")
        self.assertEqual(list(done), [("command line", "enable"), ("command line", "disable")])

    def test_impossible_settings_are_usage_errors_and_change_nothing(self) -> None:
        before = Bank.objects.filter(pk=self.apollo.bank.pk).values().get()
        for options, words in [
            (["--budget", "199"], "argument --budget: “199” is not a number of tokens from 200 to 32,000"),
            (["--budget", "32001"], "argument --budget: “32001”"),
            (["--idle-minutes", "0"], "argument --idle-minutes: “0” is not a number of minutes from 1 to 10,080"),
            (["--timezone", "Mars/Olympus"], "timezone: this is not a known time zone"),
            (["--timezone", "../../etc/passwd"], "is not a known time zone"),
            (["--focus", "x" * 1001], "focus: 1,001 characters, at most 1,000 are allowed"),
            (["--enable", "--disable"], "not allowed with argument"),
        ]:
            with self.subTest(options=options):
                self.assert_refused(run("configure_memory", "acme/apollo", *options), words)
        self.assertEqual(Bank.objects.filter(pk=self.apollo.bank.pk).values().get(), before)


class TestCheckMemory(CommandCase):
    def test_it_is_content_with_sound_memory(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "We chose Postgres 16 for billing.")
        ran = run("check_memory")
        self.assertEqual((ran.code, ran.out), (0, "2 projects checked: coverage, tree, budget and audit log hold.\n"))
        head = self.apollo.bank.audit_log
        trails = {"acme/apollo": {"events": head.length, "seal": head.seal}}
        expected = {"ok": True, "violations": [], "trails": trails}
        self.assertEqual(run("check_memory", "acme/apollo", "--json").json, expected)

    def test_it_fails_and_says_where_something_is_broken(self) -> None:
        self.tell("a secret plan")
        Chat.objects.update(pending_outputs=5)
        ran = run("check_memory", "--json")
        self.assertEqual((ran.code, ran.json["ok"], ran.err), (1, False, "1 violation."))
        self.assertEqual(set(ran.json["violations"][0]), {"project", "invariant", "where", "what"})
        self.assertIn("I1 acme/apollo, chat", run("check_memory").out)
        self.assertNotIn("secret", ran.out)

    def test_a_zone_that_this_machine_does_not_know_is_utc_s_and_named(self) -> None:
        self.switch_on(self.apollo)
        Bank.objects.filter(pk=self.apollo.bank.pk).update(timezone="Mars/Phobos")
        self.tell()
        with self.assertLogs("memorybank.models.bank", "WARNING") as logged:
            self.assertEqual(run("run_memory", "--until-idle").code, 0)
            shown = run("show_memory", "acme/apollo")
            ran = run("check_memory")
        self.assertEqual(shown.code, 0)
        self.assertIn("We chose Postgres 16 for billing.", shown.out)
        self.assertEqual((ran.code, ran.err), (1, "1 violation."))
        self.assertIn("zone acme/apollo, settings: this machine does not know the time zone 'Mars/Phobos'", ran.out)
        self.assertEqual(len(logged.output), 1)

    def test_it_checks_one_project_alone(self) -> None:
        self.tell()
        Chat.objects.update(pending_outputs=5)
        self.assertEqual(run("check_memory", "globex/zeus").code, 0)


class TestExportMemory(CommandCase):
    def test_it_prints_everything_of_one_bank_as_json_lines(self) -> None:
        for project, text in ((self.apollo, "We chose Postgres 16 for billing."), (self.zeus, "Zeus is a secret.")):
            self.switch_on(project)
            self.remember(project, "bob", text)
        ran = run("export_memory", "acme/apollo")
        rows = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual([row["type"] for row in rows[:4]], ["bank", "chat", "output", "entry"])
        self.assertEqual({row["type"] for row in rows}, {"bank", "chat", "output", "entry", "fact"})
        self.assertNotIn("Zeus", ran.out)
        self.assertEqual(datetime.fromisoformat(rows[2]["created_at"]), datetime(2026, 3, 2, 12, tzinfo=UTC))

    def test_it_leaves_private_chats_out_with_their_titles_and_names_who_answered(self) -> None:
        people = {"author": "ann", "said_by": "Ann", "answered_by": "Ben"}
        new = NewOutput("open", question="Who pays?", answer="We do.", created_at=NOON, **people)  # type: ignore[arg-type]
        services.record_many(self.apollo.bank, [new])
        for key in ("hers", "his"):
            services.record(
                self.apollo.bank, chat_key=key, author="bob", question="A merger.", title="Quokka", private=True
            )
        ran = run("export_memory", "acme/apollo")
        rows = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual(rows[0]["private_chats_left_out"], 2)
        self.assertIn("2 private chats are left out.", ran.err)
        self.assertNotIn("Quokka", ran.out)
        self.assertNotIn("merger", ran.out)
        [turn] = [row for row in rows if row["type"] == "output"]
        self.assertEqual((turn["said_by"], turn["answered_by"]), ("Ann", "Ben"))

    def test_it_goes_on_the_audit_trail(self) -> None:
        run("export_memory", "acme/apollo")
        self.assertEqual(Event.objects.get().action, "export")


class TestInTheShell:
    """Tests that need a separate process: exit codes, usage, a broken installation."""

    def test_every_command_documents_itself_in_its_help(self) -> None:
        from django.core.management import load_command_class

        assert OUR_COMMANDS, "no commands found"
        for name in OUR_COMMANDS:
            parser = load_command_class("projects", name).create_parser("manage.py", name)
            text = parser.format_help()
            assert len(parser.description or "") > 40, name
            undocumented = [action.dest for action in parser._actions if not action.help]
            assert not undocumented, f"{name}: {undocumented}"
            assert "--settings" not in text, "Django's own options bury ours"

    def test_usage_errors_are_one_line_and_exit_with_2(self, tmp_path: Path) -> None:
        ran = shell("show_memory", "acme/apollo", "--budget", "lots", data=tmp_path)
        expected = "manage.py show_memory: argument --budget: “lots” is not a number of tokens from 1 to 32,000."
        assert (ran.code, ran.out, ran.err) == (2, "", f"{expected} See --help.\n")

    def test_a_database_that_is_not_migrated_is_one_line_that_says_what_to_do(self, tmp_path: Path) -> None:
        ran = shell("show_memory", "acme/apollo", data=tmp_path)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("CommandError: The database is not migrated (no such table: ")
        assert ran.err.endswith("Run: python manage.py migrate\n")
        assert ran.err.count("\n") == 1

    def test_a_data_directory_that_cannot_be_made_is_one_line_that_names_it(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        ran = shell("check_memory", data=file)
        assert (ran.code, ran.err) == (1, f"DATA_DIR {file} cannot be written: Not a directory.\n")

    def test_a_database_file_that_cannot_be_opened_is_named(self, tmp_path: Path) -> None:
        missing = tmp_path / "none" / "x.sqlite3"
        ran = shell("check_memory", data=tmp_path, DATABASE_URL=f"sqlite:///{missing}")
        assert ran.code == 1
        words = "cannot be written: unable to open database file. Check DATA_DIR."
        assert ran.err == f"CommandError: The database {missing} {words}\n"

    def test_a_database_server_that_is_not_there_is_one_line(self, tmp_path: Path) -> None:
        ran = shell("check_memory", data=tmp_path, DATABASE_URL="postgres://me:hunter2@127.0.0.1:1/x")
        assert ran.code == 1
        assert ran.err.startswith("CommandError: The database failed: connection failed")
        assert "Traceback" not in ran.err
        assert "hunter2" not in ran.err

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("MEMORYBANK_CONCURRENCY", "lots", "MEMORYBANK_CONCURRENCY: “lots” is not a whole number."),
            pytest.param(
                "MEMORYBANK_PRESSURE", "nan", "MEMORYBANK['PRESSURE'] must be a positive number, not nan.", marks=in_ci
            ),
            pytest.param(
                "MEMORYBANK_LLMS", "http://x/v1", "MEMORYBANK LLMS: must be a dictionary, not str.", marks=in_ci
            ),
            ("MEMORYBANK_CONCURENCY", "4", "MEMORYBANK has no setting CONCURENCY."),
            pytest.param("MEMORYBANK_CONCURRENCY", "-1", "must be a positive whole number, not -1", marks=in_ci),
            ("DATABASE_URL", "nonsense", "DATABASE_URL is not an address such as postgres://"),
            ("DEBUG", "false", "Set SECRET_KEY"),
        ],
    )
    def test_nonsense_in_the_environment_is_named(self, tmp_path: Path, name: str, value: str, words: str) -> None:
        ran = shell("check_memory", data=tmp_path, **{name: value})
        assert ran.code == 1
        assert words in ran.err
        assert "Traceback" not in ran.err

    def test_standard_input_is_read_and_bad_lines_exit_with_1(self, tmp_path: Path) -> None:
        prepared.migrated(tmp_path)
        ran = shell("import_chats", "-", "--json", data=tmp_path, stdin=b'{"tenant": "\xff"}\nnot json\n')
        assert (ran.code, ran.json["bad"]) == (1, 2)
        assert ran.err.splitlines() == [
            "line 1: not valid UTF-8.",
            "line 2: not valid JSON at column 1.",
            "CommandError: Skipped 2 bad of 2 lines.",
        ]
