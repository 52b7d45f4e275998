"""replay_chats: memory covers the same turns, whatever the size of the steps."""

import json
from typing import Any

from django.test import TestCase

from memorybank import llm, services
from memorybank.models import Entry, Granularity, Output
from memorybank.services import RunReport
from projects.importing.demo import SAMPLE_FILE
from projects.models import Project
from tests.projects.importing.test_import_chats import GOOD, ImportCase
from tests.support.cast import without_models
from tests.support.commands import PROCESS_TIMEOUT_SECONDS, run
from tests.support.openai_server import OpenAIServer


def sample(tenant: str, *, count: int = 30) -> list[dict[str, Any]]:
    """The first turns of one project of the shipped sample, moved to ``tenant``."""
    rows = [json.loads(line) for line in SAMPLE_FILE.read_text(encoding="utf-8").splitlines()]
    chosen = [row for row in rows if row["project"] == "billing-migration"]
    return [{**row, "tenant": tenant} for row in chosen[:count]]


@without_models
class TestReplaying(ImportCase):
    def setUp(self) -> None:
        super().setUp()
        llm.reset()

    def covered(self, tenant: str) -> dict[str, int]:
        """The number of turns that memory covers, by chat."""
        bank = Project.objects.get(tenant__slug=tenant).bank
        self.assertEqual(services.find_violations(bank), [])
        leaves = bank.entries.filter(granularity=Granularity.CONVERSATION)
        counts: dict[str, int] = {}
        for key, count in leaves.values_list("chat__key", "output_count"):
            counts[key] = counts.get(key, 0) + count
        return counts

    def test_a_replay_covers_the_same_turns_as_import_and_run(self) -> None:
        stepwise, at_once = self.file(*sample("stepwise")), self.file(*sample("at-once"), name="2.jsonl")
        self.assertEqual(run("replay_chats", stepwise, "--step", "1d").code, 0)
        self.assertEqual(run("import_chats", at_once, "--enable").code, 0)
        self.assertEqual(run("run_memory", "--until-idle").code, 0)
        self.assertEqual(self.covered("stepwise"), self.covered("at-once"))
        remembered = Output.objects.filter(chat__bank__project__tenant__slug="stepwise", status="ok").count()
        self.assertEqual(sum(self.covered("stepwise").values()), remembered)

    def test_a_second_replay_records_nothing_and_keeps_the_block(self) -> None:
        file = self.file(*sample("acme", count=20))
        run("replay_chats", file)
        bank = Project.objects.get().bank
        block = services.render(bank).text
        self.assertTrue(block)
        report = run("replay_chats", file, "--json").json
        self.assertEqual((report["summarised"], report["llm_calls"], Output.objects.count()), (0, 0, 20))
        self.assertEqual(services.render(bank).text, block)

    def test_it_reports_in_the_agreed_shape(self) -> None:
        report = run("replay_chats", self.file(GOOD), "--json").json
        self.assertEqual(list(report), list(RunReport().as_dict()))
        self.assertEqual(report["summarised"], 1)

    def test_it_sets_the_budget_and_enables_memory(self) -> None:
        run("replay_chats", self.file(GOOD), "--budget", 700)
        bank = Project.objects.get().bank
        self.assertEqual((bank.max_tokens, bank.enabled), (700, True))

    def test_lines_may_come_in_any_order(self) -> None:
        rows = sample("acme", count=12)
        run("replay_chats", self.file(*reversed(rows)))
        times = list(Output.objects.order_by("pk").values_list("created_at", flat=True))
        self.assertEqual(times, sorted(times))

    def test_a_bad_line_stops_it_before_anything_is_written(self) -> None:
        ran = run("replay_chats", self.file(GOOD, "{"))
        self.assertEqual(ran.code, 1)
        self.assertEqual(ran.err.strip(), "line 2: not valid JSON at column 2. Nothing was replayed.")
        self.assertFalse(Output.objects.exists())

    def test_steps_and_budgets_out_of_range_are_usage_errors(self) -> None:
        file = self.file(GOOD)
        for option, value in [("--step", "0h"), ("--step", "6"), ("--step", "9999999d"), ("--budget", "199")]:
            with self.subTest(value=value):
                ran = run("replay_chats", file, option, value)
                self.assertEqual(ran.code, 2)
                self.assertIn(f"argument {option}: “{value}”", ran.err)
        self.assertFalse(Output.objects.exists())


class TestReplayingInAnOutage(ImportCase):
    def test_it_fails_says_that_chats_wait_and_loses_nothing(self) -> None:
        with OpenAIServer(mode="500") as server:
            options = {"MODEL": "m", "BASE_URL": server.base_url, "TIMEOUT": PROCESS_TIMEOUT_SECONDS, "MAX_RETRIES": 0}
            backend = {"BACKEND": "memorybank.llm.openai_compatible.OpenAICompatibleLLM", **options}
            with self.settings(MEMORYBANK={"LLMS": {"summary": backend}}):
                ran = run("replay_chats", self.file(GOOD, {**GOOD, "chat": "c2"}), "--json")
        self.assertEqual(ran.code, 1)
        self.assertIn("2 chats not summarised yet", ran.err)
        self.assertEqual(Entry.objects.filter(chat__key__in=["c1", "c2"], provisional=True, stale=True).count(), 2)
        self.assertEqual(services.find_violations(Project.objects.get().bank), [])


class TestTheSample(TestCase):
    def test_every_line_of_it_is_good(self) -> None:
        ran = run("import_chats", SAMPLE_FILE, "--json")
        self.assertEqual(ran.json, {"lines": 480, "recorded": 480, "known": 0, "bad": 0, "projects": 4})
