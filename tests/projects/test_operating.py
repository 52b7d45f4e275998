"""Whoever runs it sees what waits and what it costs, caps that, and has a chat summarised now."""

from datetime import timedelta
from decimal import Decimal

from django.test import override_settings

from memorybank import llm, services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Chat, Entry, LLMCall
from projects import spending
from tests.base import NOON, Cast, without_models
from tests.commands import run
from tests.memorybank.factories import note_taker, say

SUMMARY = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "small", "ANSWER": note_taker}


@without_models
class ForceTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        say(self.apollo.bank, "c1", "We chose Postgres 16 for billing.", at=NOON)

    def test_it_says_when_a_chat_will_be_due_and_does_nothing(self) -> None:
        ran = run("run_memory", "acme/apollo", "--chat", "c1", "--now", "2026-03-02T12:01:00Z")
        self.assertEqual((ran.code, ran.out.strip()), (0, "Chat c1: due at 2026-03-02T12:10:00Z, with 1 turn waiting."))
        late = run("run_memory", "--project", "acme/apollo", "--chat", "c1", "--json")
        self.assertEqual((late.json["why"], late.json["pending"]), ("due; the next sweep takes it.", 1))
        self.assertFalse(Entry.objects.exists())

    def test_it_summarises_it_now_if_it_is_forced(self) -> None:
        ran = run("run_memory", "--force", "acme/apollo", "--chat", "c1", "--now", "2026-03-02T12:01:00Z", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["due"]), (0, 1, 0))
        self.assertEqual(Entry.objects.count(), 1)
        again = run("run_memory", "--force", "acme/apollo", "--chat", "c1")
        self.assertEqual(again.code, 1)
        self.assertIn("due when somebody writes in it; nothing waits.", again.out)

    def test_it_takes_a_parked_chat_and_leaves_a_private_one_and_a_bank_that_is_off(self) -> None:
        Chat.objects.update(parked_at=NOON, due_at=None, attempts=5, last_error="HTTP 400")
        self.assertIn("parked after 5 attempts", run("run_memory", "acme/apollo", "--chat", "c1").out)
        self.assertEqual(run("run_memory", "--force", "acme/apollo", "--chat", "c1").code, 0)
        say(self.apollo.bank, "c2", "More.", at=NOON)
        services.set_private(self.apollo.bank, chat_key="c2", private=True, actor="bob", now=NOON)
        self.assertIn("it is private", run("run_memory", "--force", "acme/apollo", "--chat", "c2").out)
        services.disable(self.apollo.bank, actor="alice", now=NOON)
        self.assertIn("memory is off", run("run_memory", "acme/apollo", "--chat", "c1").out)

    def test_what_is_wrong_is_one_line(self) -> None:
        for args in (
            ("--chat", "c1"), ("--force",), ("acme/apollo", "--force"), ("acme/apollo", "--project", "acme/apollo"),
            ("acme/apollo", "--chat", "c9"), ("acme/none", "--chat", "c1"),
        ):  # fmt: skip
            ran = run("run_memory", *args)
            self.assertEqual((ran.code, ran.err.count("\n")), (2, 0), args)


class CapTest(Cast):
    def test_the_shell_sets_shows_and_removes_a_project_s_cap(self) -> None:
        shown = run("configure_memory", "acme/apollo", "--monthly-cap", "12.50", "--json").json
        self.assertEqual(shown["monthly_cap"], "12.50")
        self.assertIsNone(run("configure_memory", "acme/apollo", "--monthly-cap", "none", "--json").json["monthly_cap"])
        for wrong in ("-1", "a lot", "1.234", "inf"):
            self.assertEqual(run("configure_memory", "acme/apollo", f"--monthly-cap={wrong}").code, 2)

    def test_a_tenant_s_cap_counts_all_its_projects_and_no_other_s(self) -> None:
        other = self.project(self.acme, "hermes")
        self.acme.monthly_cap = Decimal(10)
        self.acme.save()
        for project, cost in ((self.apollo, 4), (other, 5), (self.zeus, 90)):
            LLMCall.objects.create(bank=project.bank, purpose="summary", cost=cost, model="m", outcome="ok", at=NOON)
        self.assertFalse(spending.is_capped(self.apollo.bank, NOON - timedelta(days=1)))
        LLMCall.objects.create(bank=other.bank, purpose="digest", cost=1, model="m", outcome="ok", at=NOON)
        self.assertTrue(spending.is_capped(self.apollo.bank, NOON - timedelta(days=1)))
        self.assertFalse(spending.is_capped(self.apollo.bank, NOON + timedelta(days=1)))
        self.assertFalse(spending.is_capped(self.zeus.bank, NOON - timedelta(days=1)))

    @override_settings(
        MEMORYBANK={"LLMS": {"summary": SUMMARY}, "CAPPED_FOR_BANK": "projects.spending.is_capped"},
    )
    def test_at_the_tenant_s_cap_memory_does_without_the_model_until_it_is_raised(self) -> None:
        self.acme.monthly_cap = Decimal(0)
        self.acme.save()
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The launch is on 17 May 2026 in Lisbon.")
        model = llm.get("summary")
        assert isinstance(model, ScriptedLLM)
        self.assertEqual(model.history, [])
        self.assertIn("monthly cap", Entry.objects.get().method)
        type(self.acme).objects.update(monthly_cap=5)
        services.run(now=NOON + timedelta(hours=2), until_idle=True)
        self.assertEqual(len(model.history), 1)
        self.assertIn("small", Entry.objects.get().method)
