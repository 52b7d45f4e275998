"""An owner creates a project, configures it, hands out a key and sees what it costs, without the admin."""

import re
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from memorybank import services
from memorybank.models import Bank, Event, LLMCall
from projects.models import APIKey, Project
from tests.support.cast import Cast, with_chat_model, without_models

PROJECT_SLUGS = ["acme", "apollo"]


@without_models
class DeskTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def page(self, name: str, *args: str) -> str:
        return str(self.client.get(reverse(name, args=args or PROJECT_SLUGS)).content.decode())

    def save(self, **changes: Any) -> Any:
        """Post the settings as they stand, changed."""
        form = self.client.get(reverse("project-settings", args=PROJECT_SLUGS)).context["form"]
        values = {name: form[name].value() for name in form.fields}
        sent = {name: value for name, value in {**values, **changes}.items() if value not in (None, False)}
        return self.client.post(reverse("project-settings", args=PROJECT_SLUGS), sent)

    def test_a_project_is_created_by_its_name_with_its_memory_off_in_the_zone_of_its_creator(self) -> None:
        self.client.cookies["time_zone"] = "Etc/GMT+5"
        answer = self.client.post(reverse("new-project", args=["acme"]), {"name": "Night Shift"})
        self.assertRedirects(answer, reverse("project-settings", args=["acme", "night-shift"]))
        project = Project.objects.at("acme/night-shift").get()
        self.assertEqual((project.name, project.bank.enabled), ("Night Shift", False))
        self.assertEqual(project.bank.timezone, "Etc/GMT+5")
        self.assertIn("Night Shift", self.client.get("/").content.decode())

    def test_the_browser_s_zone_is_suggested_while_nobody_has_set_one(self) -> None:
        address = reverse("project-settings", args=PROJECT_SLUGS)
        for own, zone, suggested in (
            ("Europe/Berlin", "UTC", True),
            ("Europe/Berlin", "Asia/Tokyo", False),
            ("UTC", "UTC", False),
            ("right/UTC", "UTC", False),
            ("", "UTC", False),
        ):
            Bank.objects.filter(project=self.apollo).update(timezone=zone)
            self.client.cookies["time_zone"] = own
            page = self.client.get(address).content.decode()
            self.assertEqual(page.count(f"Your browser’s time zone is {own}."), int(suggested), (own, zone))
            self.assertIn(f"Times are in {zone}, the project’s time zone.", page)

    def test_a_zone_that_no_project_may_have_becomes_the_site_s(self) -> None:
        for slug, zone in (("one", "right/UTC"), ("two", "posixrules")):
            self.client.cookies["time_zone"] = zone
            self.client.post(reverse("new-project", args=["acme"]), {"name": slug})
            self.assertEqual(Project.objects.at(f"acme/{slug}").get().bank.timezone, "UTC")

    def test_a_zone_that_this_machine_does_not_know_any_more_can_be_changed(self) -> None:
        Bank.objects.filter(project=self.apollo).update(timezone="Mars/Olympus_Mons")
        for name in ("project", "memory", "memory-facts", "memory-past", "project-costs", "project-settings"):
            self.assertEqual(self.client.get(reverse(name, args=PROJECT_SLUGS)).status_code, 200, name)
        self.assertEqual(self.save(timezone="Europe/Berlin").status_code, 302)
        self.assertEqual(Bank.objects.get(project=self.apollo).timezone, "Europe/Berlin")

    def test_a_taken_or_impossible_address_is_refused_beside_its_field(self) -> None:
        for name, slug, why in (
            ("Apollo", "", "already exists"),
            ("夜勤", "", "Choose an address"),
            ("X", "A b", "lower-case"),
        ):
            answer = self.client.post(reverse("new-project", args=["acme"]), {"name": name, "slug": slug})
            self.assertContains(answer, why, status_code=400)
        self.assertEqual(Project.objects.filter(tenant=self.acme).count(), 1)

    def test_memory_is_switched_on_only_after_its_disclosure_was_accepted(self) -> None:
        self.assertContains(self.save(enabled="on"), "tick this box", status_code=400)
        self.apollo.bank.refresh_from_db()
        self.assertFalse(self.apollo.bank.enabled)
        self.assertEqual(self.save(enabled="on", disclosure_read="on").status_code, 302)
        self.apollo.bank.refresh_from_db()
        self.assertEqual((self.apollo.bank.enabled, self.apollo.bank.disclosure_accepted_by), (True, "alice"))
        self.assertIn("accepted by alice", self.page("project-settings"))

    def test_settings_are_saved_through_the_audit_log_and_nonsense_is_named(self) -> None:
        self.save(name="Apollo 2", system_prompt="Be brief.", max_tokens=900, monthly_cap="12.50")
        self.apollo.refresh_from_db()
        bank = self.apollo.bank
        self.assertEqual((self.apollo.name, self.apollo.system_prompt), ("Apollo 2", "Be brief."))
        self.assertEqual((bank.max_tokens, bank.monthly_cap), (900, Decimal("12.50")))
        self.assertEqual(Event.objects.filter(bank=bank, action="configure", actor="alice").count(), 1)
        self.assertInHTML("<del>none</del>", activity := self.page("memory-activity"))
        self.assertInHTML("<ins>12.50 USD</ins>", activity)
        self.assertContains(self.save(max_tokens=7), "greater than or equal to 200", status_code=400)

    def test_a_key_is_shown_once_and_its_revocation_closes_the_door(self) -> None:
        answer = self.client.post(reverse("project-keys", args=PROJECT_SLUGS), {"name": "bot", "scopes": ["read"]})
        key = APIKey.objects.get(name="bot")
        [secret] = re.findall(r"<pre[^>]*>(mb_[^<]+)</pre>", answer.content.decode())
        shown = f'curl http://testserver/api/v1/key -H "Authorization: Bearer {secret}"'
        self.assertContains(answer, f">{escape(shown)}</pre>")
        self.assertEqual(APIKey.hashed(secret), key.digest)
        self.assertNotIn(secret, self.page("project-keys"))
        door = {"path": "/api/v1/key", "headers": {"Authorization": f"Bearer {secret}"}}
        self.assertEqual(self.client.get(**door).status_code, 200)
        self.client.post(reverse("project-revoke-key", args=PROJECT_SLUGS), {"prefix": key.prefix})
        self.assertEqual(self.client.get(**door).status_code, 401)
        self.assertIn("revoked", self.page("project-keys"))
        self.client.post(reverse("language"), {"language": "de"})
        self.assertIn("lesen · zuletzt benutzt", " ".join(self.page("project-keys").split()))

    @with_chat_model("small")
    def test_costs_say_how_the_chat_model_and_the_summary_model_fare(self) -> None:
        both = "small, not asked yet"  # the summary model is the same one
        self.assertEqual(self.page("project-costs").count(both), 2)
        failed = {"outcome": "unavailable", "error": "HTTP 503: overloaded", "at": timezone.now()}
        LLMCall.objects.create(bank=self.zeus.bank, purpose="chat", model="small", **failed)
        self.assertEqual(self.page("project-costs").count(both), 2)  # that was another project's
        LLMCall.objects.create(bank=self.apollo.bank, purpose="chat", model="small", **failed)
        page = self.page("project-costs")
        self.assertIn("HTTP 503: overloaded", page)
        self.assertEqual(page.count(both), 1)

    def test_costs_say_how_people_rated_each_model(self) -> None:
        self.assertNotIn("Helpful answers", self.page("project-costs"))
        for number, (project, helpful) in enumerate([(self.apollo, True), (self.apollo, False), (self.zeus, False)]):
            common = {"chat_key": "c", "author": "bob", "question": "And now?", "answer": f"Number {number}."}
            output = services.record(project.bank, **common)
            services.rate_answer(project.bank, output=output.pk, person="bob", helpful=helpful, model="small")
        page = " ".join(self.page("project-costs").split())
        self.assertIn('<th scope="row">small</th> <td>50 %</td> <td>2</td>', page)

    def test_costs_say_what_would_make_costs_appear(self) -> None:
        self.assertIn("No costs: no model is connected.", self.page("project-costs"))
        with with_chat_model():
            self.assertIn("They appear when a model is asked whose prices are set", self.page("project-costs"))

    def test_a_smaller_budget_is_saved_after_its_page_has_said_what_it_leaves_out(self) -> None:
        self.switch_on(self.apollo)
        for number in range(12):
            text = f"The crane of yard {number} costs {number}10 euros a day, and its rope is {number} metres long."
            self.remember(self.apollo, "bob", text, f"c{number}")
        page = self.save(max_tokens=200)
        self.assertContains(page, "Nothing is saved yet. With 200 tokens, chats are no longer given")
        self.assertContains(page, "and its rope is")
        self.apollo.bank.refresh_from_db()
        self.assertEqual(self.apollo.bank.max_tokens, 2000)
        before = services.prompt_memory(self.apollo.bank).block.tokens
        self.assertEqual(self.save(max_tokens=200, sure="200").status_code, 302)
        self.apollo.bank.refresh_from_db()
        self.assertLessEqual(services.prompt_memory(self.apollo.bank).block.tokens, 200)
        self.assertEqual(self.save(max_tokens=2000).status_code, 302)  # nothing is left out: it is not asked about
        self.apollo.bank.refresh_from_db()
        self.assertEqual(services.prompt_memory(self.apollo.bank).block.tokens, before)

    def test_costs_are_drawn_by_day_and_purpose_with_the_limit(self) -> None:
        self.save(monthly_cap="30")
        call = {"bank": self.apollo.bank, "model": "m", "outcome": "ok", "at": timezone.now()}
        for number in range(3):
            LLMCall.objects.create(**call, purpose="summary", cost=Decimal("0.5"), prompt_tokens=number)
        LLMCall.objects.create(**{**call, "bank": self.zeus.bank}, purpose="summary", cost=Decimal("7654.32"))
        page = self.page("project-costs")
        self.assertIn("Memory has cost 1.50 USD of 30.00 USD this month", page)
        self.assertIn('class="limit"', page)
        self.assertIn("1.5000 USD</title>", page)
        self.assertNotIn("7,654", page)
        self.assertIn(
            'aria-current="true">14 days',
            self.client.get(reverse("project-costs", args=PROJECT_SLUGS), {"days": "14"}).content.decode(),
        )

    def test_who_is_no_owner_finds_no_way_in(self) -> None:
        self.client.force_login(self.bob)
        self.assertNotIn("settings/", self.client.get(reverse("project", args=PROJECT_SLUGS)).content.decode())
        self.assertEqual(self.client.get(reverse("project-settings", args=PROJECT_SLUGS)).status_code, 403)
