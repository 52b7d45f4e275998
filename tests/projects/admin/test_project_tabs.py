"""One page a project in the admin: tabs between its settings, memory, chats, cost and audit; what is to be done now."""

from typing import Any
from unittest.mock import patch

from django.contrib import admin
from django.urls import reverse

from memorybank import services
from memorybank.admin import scoping
from memorybank.models import Bank, Chat, Event, Fact, Job, LLMCall
from memorybank.services import public_id
from projects.models import Role, Tenant
from tests.support.cast import NOON
from tests.support.factories import say

from .test_admin import AdminCase


class TabsTest(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        self.pages = {
            "Settings": self.change_url(self.apollo),
            "Memory": self.change_url(self.apollo.bank),
            **{
                name: f"{self.list_url(model)}?bank={public_id(self.apollo.bank_id)}"
                for name, model in {"Chats": Chat, "Cost": LLMCall, "Audit": Event}.items()
            },
        }

    def test_each_leads_to_all_and_says_which_it_is(self) -> None:
        for here, page in self.pages.items():
            shown = self.client.get(page)
            for name, address in self.pages.items():
                current = ' aria-current="page"' if name == here else ""
                self.assertContains(shown, f'<a href="{address}"{current}>{name}</a>', html=True)

    def test_other_pages_have_none_nor_has_a_bank_one_may_not_see(self) -> None:
        for page in (
            self.list_url(Chat), self.list_url(Tenant), f"{self.list_url(Chat)}?bank={public_id(self.zeus.bank_id)}",
            f"{self.list_url(Chat)}?bank=x", f"{self.list_url(Chat)}?bank={'9' * 30}",
        ):  # fmt: skip
            self.assertNotContains(self.client.get(page), "project-tabs")

    def test_cost_says_what_this_month_has_cost_and_may(self) -> None:
        Bank.objects.update(monthly_cap=25)
        LLMCall.objects.create(bank=self.apollo.bank, purpose="summary", cost="1.5", model="m", outcome="ok", at=NOON)
        self.assertEqual(services.cost_this_month(self.apollo.bank, now=NOON), 1.5)
        self.assertContains(self.client.get(self.pages["Cost"]), "0.0000 of 25.00 this month (UTC)")

    def test_lists_begin_with_state_outcome_and_error(self) -> None:
        for model, first in {
            Chat: ["state", "last_error"], LLMCall: ["outcome", "error"], Fact: ["state"], Job: ["progress"],
        }.items():  # fmt: skip
            listed: Any = admin.site._registry[model].list_display
            self.assertEqual(listed[: len(first)], first)

    def test_a_list_counts_no_more_rows_than_it_can_show(self) -> None:
        for number in range(5):
            say(self.apollo.bank, f"c{number}", "Hello", at=NOON)
        counts = []
        for most in (10, 3):
            with patch.object(scoping, "MAX_LISTED_ROWS", most):
                counts.append(self.client.get(self.pages["Chats"]).context["cl"].result_count)
        self.assertEqual(counts, [5, 3])

    def test_a_chat_s_state_is_said_in_words(self) -> None:
        for key, changes in {
            "a": {}, "b": {"attempts": 2}, "c": {"attempts": 5, "parked_at": NOON}, "d": {"pending_outputs": 0},
            "e": {"private": True},
        }.items():  # fmt: skip
            say(self.apollo.bank, key, "Hello", at=NOON)
            Chat.objects.filter(key=key).update(**changes)
        page = self.client.get(self.pages["Chats"])
        for state in ("waits", "failed 2 ×", "parked after 5", "settled", "private"):
            self.assertContains(page, f'<td class="field-state">{state}</td>', html=True)


class AskTest(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        say(self.apollo.bank, "c1", "We chose Postgres 16 for billing.", at=NOON)
        self.address = reverse("admin:memorybank_bank_ask", args=[self.apollo.bank_id])

    def test_the_request_marks_and_the_page_is_read_again_until_it_is_done(self) -> None:
        page = self.client.post(self.address, {"job": "summarise"}, follow=True)
        self.assertContains(page, "Summarise now: requested.")
        self.assertEqual(page.headers["Refresh"], "3")
        self.assertContains(page, "0 % · Summarise now, asked by alice")
        self.assertTrue(Chat.objects.filter(pending_outputs=1).exists())
        services.run()
        page = self.client.get(self.change_url(self.apollo.bank))
        self.assertContains(page, "100 % · Summarise now, asked by alice")
        self.assertNotIn("Refresh", page.headers)
        self.assertContains(self.client.get(self.list_url(Job)), "done")

    def test_some_chats_are_chosen_in_the_list(self) -> None:
        chosen = {"action": "summarise_now", "_selected_action": [Chat.objects.get().pk]}
        self.assertContains(self.client.post(self.list_url(Chat), chosen, follow=True), "Requested.")
        self.assertEqual((Job.objects.get().total, Job.objects.get().asked_by), (1, "alice"))
        services.disable(self.apollo.bank, actor="alice", now=NOON)
        self.assertContains(self.client.post(self.list_url(Chat), chosen, follow=True), "Memory is off")

    def test_what_cannot_be_is_said_in_one_line(self) -> None:
        services.disable(self.apollo.bank, actor="alice", now=NOON)
        page = self.client.post(self.address, {"job": "compress"}, follow=True)
        self.assertContains(page, "Memory is off in this project.")

    def test_nobody_else_has_anything_done(self) -> None:
        for user, status in ((self.charlie, 404), (self.person("dora", self.acme, Role.MEMBER, is_staff=True), 404)):
            self.client.force_login(user)
            self.assertEqual(self.client.post(self.address, {"job": "rebuild"}).status_code, status)
        self.client.force_login(self.alice)
        self.assertEqual(self.client.get(self.address).status_code, 404)
        self.assertEqual(self.client.post(self.address, {"job": "nonsense"}).status_code, 404)
        self.assertFalse(Job.objects.exists())
