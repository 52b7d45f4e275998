"""Whoever runs it sees what waits and what it costs, caps that, and has a chat summarised now."""

from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memorybank import llm, services
from memorybank.exceptions import LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Job, LLMCall, PromptCount
from projects.models import Role
from projects.tenancy import budget as tenancy_budget
from projects.tenancy import permissions
from tests.support.cast import NOON, Cast, without_models
from tests.support.commands import run
from tests.support.factories import note_taker, say

SUMMARY = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "small", "ANSWER": note_taker}


@without_models
class ForceTest(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        say(cls.apollo.bank, "c1", "We chose Postgres 16 for billing.", at=NOON)

    def test_it_says_when_a_chat_will_be_due_and_does_nothing(self) -> None:
        ran = run("run_memory", "acme/apollo", "--chat", "c1", "--now", "2026-03-02T12:01:00Z")
        self.assertEqual((ran.code, ran.out.strip()), (0, "Chat c1: due at 2026-03-02T12:10:00Z, with 1 turn pending."))
        late = run("run_memory", "--project", "acme/apollo", "--chat", "c1", "--json")
        self.assertEqual((late.json["why"], late.json["pending"]), ("due; the next sweep summarises it.", 1))
        self.assertFalse(Entry.objects.exists())

    def test_it_summarises_it_now_if_it_is_forced(self) -> None:
        ran = run("run_memory", "--force", "acme/apollo", "--chat", "c1", "--now", "2026-03-02T12:01:00Z", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["due"]), (0, 1, 0))
        self.assertEqual(Entry.objects.count(), 1)
        again = run("run_memory", "--force", "acme/apollo", "--chat", "c1")
        self.assertEqual(again.code, 1)
        self.assertIn("due when somebody writes in it; nothing is pending.", again.out)

    def test_without_a_chat_it_takes_all_that_wait_and_parked_ones_if_told_so(self) -> None:
        say(self.apollo.bank, "c2", "We parked the Helsinki rollout.", at=NOON)
        Chat.objects.filter(key="c2").update(parked_at=NOON, due_at=None, attempts=5, last_error="HTTP 400")
        ran = run("run_memory", "--force", "acme/apollo", "--now", "2026-03-02T12:01:00Z", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["parked"]), (0, 1, 1))
        ran = run("run_memory", "acme/apollo", "--retry-parked", "--rebuild", "--now", "2026-03-02T12:01:00Z", "--json")
        self.assertEqual((ran.code, ran.json["summarised"], ran.json["parked"]), (0, 1, 0))
        self.assertEqual(set(Job.objects.values_list("kind", "percent", "asked_by")), {
            (kind, 100, "command line") for kind in ("summarise", "retry", "rebuild")
        })  # fmt: skip

    def test_it_takes_a_parked_chat_and_leaves_a_private_one_and_a_bank_that_is_off(self) -> None:
        Chat.objects.update(parked_at=NOON, due_at=None, attempts=5, last_error="HTTP 400")
        self.assertIn("parked after 5 attempts", run("run_memory", "acme/apollo", "--chat", "c1").out)
        self.assertEqual(run("run_memory", "--force", "acme/apollo", "--chat", "c1").code, 0)
        say(self.apollo.bank, "c2", "More.", at=NOON)
        services.set_audience(self.apollo.bank, chat_key="c2", readers=(), actor="bob", now=NOON)
        self.assertIn("it is private", run("run_memory", "--force", "acme/apollo", "--chat", "c2").out)
        services.disable(self.apollo.bank, actor="alice", now=NOON)
        self.assertIn("memory is off", run("run_memory", "acme/apollo", "--chat", "c1").out)

    def test_what_is_wrong_is_one_line(self) -> None:
        for args in (
            ("--chat", "c1"), ("--force",), ("--rebuild",), ("acme/apollo", "--project", "acme/apollo"),
            ("acme/apollo", "--chat", "c9"), ("acme/none", "--chat", "c1"), ("acme/none", "--force"),
            ("acme/apollo", "--chat", "c1", "--rebuild"),
        ):  # fmt: skip
            ran = run("run_memory", *args)
            self.assertEqual((ran.code, ran.err.count("\n")), (2, 0), args)


class CapTest(Cast):
    def test_the_shell_sets_shows_and_removes_a_project_s_cap(self) -> None:
        result = run("configure_memory", "acme/apollo", "--monthly-cap", "12.50", "--json").json
        self.assertEqual(result["monthly_cap"], "12.50")
        self.assertIsNone(run("configure_memory", "acme/apollo", "--monthly-cap", "none", "--json").json["monthly_cap"])
        for wrong in ("-1", "a lot", "1.234", "inf"):
            self.assertEqual(run("configure_memory", "acme/apollo", f"--monthly-cap={wrong}").code, 2)

    def test_a_tenant_s_cap_counts_all_its_projects_and_no_other_s(self) -> None:
        other = self.project(self.acme, "hermes")
        self.acme.monthly_cap = Decimal(10)
        self.acme.save()
        for project, cost in ((self.apollo, 4), (other, 5), (self.zeus, 90)):
            LLMCall.objects.create(bank=project.bank, purpose="summary", cost=cost, model="m", outcome="ok", at=NOON)
        self.assertFalse(tenancy_budget.is_capped(self.apollo.bank, NOON - timedelta(days=1)))
        LLMCall.objects.create(bank=other.bank, purpose="digest", cost=1, model="m", outcome="ok", at=NOON)
        self.assertTrue(tenancy_budget.is_capped(self.apollo.bank, NOON - timedelta(days=1)))
        self.assertFalse(tenancy_budget.is_capped(self.apollo.bank, NOON + timedelta(days=1)))
        self.assertFalse(tenancy_budget.is_capped(self.zeus.bank, NOON - timedelta(days=1)))

    @override_settings(
        MEMORYBANK={"LLMS": {"summary": SUMMARY}, "CAPPED_FOR_BANK": "projects.tenancy.budget.is_capped"},
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


class BoardTest(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.now = timezone.now()
        for project, cost in ((cls.apollo, "1.25"), (cls.zeus, "40")):
            cls.switch_on(project)
            say(project.bank, "c1", "Hello", at=cls.now - timedelta(hours=1))
            LLMCall.objects.create(
                bank=project.bank,
                purpose="summary",
                cost=cost,
                model="m",
                outcome="ok",
                at=cls.now - timedelta(days=1),
            )

    def page(self, user: User) -> str:
        self.client.force_login(user)
        return " ".join(self.client.get("/admin/").content.decode().split())

    def test_it_counts_what_waits_and_what_it_cost_in_one_s_own_tenants_alone(self) -> None:
        alice, root = (
            services.load_dashboard(permissions.banks_for(self.alice)),
            services.load_dashboard(permissions.banks_for(self.root)),
        )
        self.assertEqual((alice.due, root.due), (1, 2))
        self.assertEqual((alice.days[-2].cost, root.days[-2].cost), (Decimal("1.25"), Decimal("41.25")))
        self.assertEqual((len(alice.days), alice.days[-2].calls, alice.days[-1].calls), (365, 1, 0))
        page = self.page(self.alice)
        self.assertIn("<td>1.2500</td>", page)
        self.assertNotIn("41.25", page)
        self.assertNotIn("40.0000", page)

    def test_its_curves_say_how_each_day_was(self) -> None:
        call = {"bank": self.apollo.bank, "model": "m", "at": self.now, "prompt_tokens": 90, "completion_tokens": 10}
        for seconds in range(1, 21):
            LLMCall.objects.create(**call, purpose="summary", outcome="ok", duration_ms=1000 * seconds)
        LLMCall.objects.create(**call, purpose="summary", outcome="rejected", error="HTTP 400", duration_ms=99_000)
        LLMCall.objects.create(**call, purpose="chat", outcome="ok", duration_ms=99_000)
        services.run(until_idle=True)
        shown = services.load_dashboard(permissions.banks_for(self.alice))
        tokens, due, half, most, budget = (series.values for series in shown.time_series)
        self.assertEqual((tokens[-1], due[-1], half[-1], most[-1]), (2200, 1, 10.0, 19.0))
        self.assertEqual((tokens[-2], due[-2], half[-3], budget[-2]), (0, 0, None, None))
        block = services.prompt_memory(self.apollo.bank).block
        self.assertEqual(budget[-1], 100 * block.tokens / 2000)
        self.assertEqual({bank: usage.tokens for bank, usage in shown.usage.items()}, {self.apollo.bank_id: 2200})
        page = self.page(self.alice)
        self.assertIn("Median summary time: <strong>10 s</strong>", page)
        self.assertIn(">acme/apollo</a>", page)
        self.assertNotIn("globex", page)

    def test_it_says_for_how_long_the_oldest_chat_waits(self) -> None:
        oldest = Chat.objects.filter(bank=self.apollo.bank).earliest("due_at").due_at
        self.assertEqual(services.load_dashboard(permissions.banks_for(self.alice)).due_since, oldest)
        self.assertIn("the oldest for", self.page(self.alice))

    def test_it_shows_what_is_in_trouble(self) -> None:
        Chat.objects.filter(bank=self.apollo.bank).update(parked_at=self.now, due_at=None)
        Bank.objects.filter(pk=self.apollo.bank_id).update(capped_at=self.now)
        shown = services.load_dashboard(permissions.banks_for(self.alice))
        self.assertEqual((shown.due, shown.parked, shown.capped), (0, 1, 1))
        self.assertIn('class="bad"><dt>Parked</dt>', self.page(self.alice))

    def test_it_shows_how_often_memory_failed_today_and_nobody_elses(self) -> None:
        for bank, memory in ((self.apollo.bank, "failed"), (self.apollo.bank, "given"), (self.zeus.bank, "failed")):
            PromptCount.objects.count_prompts(bank.pk, PromptCount.Memory(memory), self.now)
        PromptCount.objects.count_prompts(self.apollo.bank_id, PromptCount.Memory.FAILED, self.now - timedelta(days=1))
        self.assertEqual(services.load_dashboard(permissions.banks_for(self.alice), now=self.now).without_memory, 1)
        self.assertIn('class="bad"><dt>Prompts without memory (errors)</dt> <dd>1 ', self.page(self.alice))

    @without_models
    def test_without_a_model_it_says_so_and_whether_anybody_sweeps(self) -> None:
        page = self.page(self.alice)
        self.assertIn("none: memory is extracted", page)
        self.assertIn("<dt>Last sweep</dt> <dd>never</dd>", page)
        services.run(until_idle=False)
        self.assertNotIn("<dd>never</dd>", self.page(self.alice))

    @override_settings(
        MEMORYBANK={"LLMS": {"summary": SUMMARY}, "BANKS_FOR_USER": "projects.tenancy.permissions.banks_for"}
    )
    def test_it_says_since_when_the_model_answers_or_why_it_does_not(self) -> None:
        self.assertIn("small, not asked yet", self.page(self.alice))
        services.run(until_idle=True)
        self.assertIn("small, up since", self.page(self.alice))
        model = llm.get("summary")
        assert isinstance(model, ScriptedLLM)
        model.enqueue(LLMUnavailable("HTTP 503: overloaded"))
        say(self.apollo.bank, "c2", "More", at=self.now - timedelta(hours=1))
        services.run(until_idle=True)
        self.assertIn("small is down: HTTP 503: overloaded", self.page(self.alice))

    @override_settings(
        MEMORYBANK={"LLMS": {"chat": SUMMARY}, "BANKS_FOR_USER": "projects.tenancy.permissions.banks_for"}
    )
    def test_it_says_when_the_chat_model_failed_and_how(self) -> None:
        self.assertIn("small, not asked yet", self.page(self.alice))
        call = {"bank": self.apollo.bank, "purpose": "chat", "model": "small-2026"}
        LLMCall.objects.create(**call, outcome="ok", at=self.now - timedelta(hours=2))
        self.assertIn("small, answered 2", self.page(self.alice))
        failed = {"outcome": "unavailable", "error": "HTTP 503: overloaded", "at": self.now - timedelta(hours=1)}
        LLMCall.objects.create(**{**call, "model": "small"}, **failed)
        self.assertIn("small failed an hour ago: HTTP 503: overloaded", self.page(self.alice).replace("\xa0", " "))

    def test_a_period_is_chosen_and_one_that_is_short_and_telling_comes_first(self) -> None:
        for days in range(2, 5):
            LLMCall.objects.create(
                bank=self.apollo.bank,
                purpose="digest",
                cost=1,
                model="m",
                outcome="ok",
                at=self.now - timedelta(days=days),
            )
        banks = permissions.banks_for(self.alice)
        self.assertEqual(services.load_dashboard(banks).period, 14)
        self.assertEqual(len(services.load_dashboard(banks, period=90).days), 90)
        self.assertEqual(services.load_dashboard(banks, period=7).period, 14)

    def test_a_member_who_is_staff_sees_nothing_on_it(self) -> None:
        dora = self.person("dora", self.acme, Role.MEMBER, is_staff=True)
        shown = services.load_dashboard(permissions.banks_for(dora))
        self.assertEqual((shown.due, sum(day.calls for day in shown.days)), (0, 0))

    def test_it_costs_the_same_however_much_there_is(self) -> None:
        def queries() -> int:
            with CaptureQueriesContext(connection) as captured:
                self.page(self.alice)
            return len(captured)

        queries()  # signs in
        before = queries()
        for number in range(20):
            say(self.apollo.bank, f"d{number}", "Hello", at=self.now - timedelta(hours=1))
        self.assertEqual(queries(), before)
