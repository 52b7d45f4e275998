"""The admin: one form for a project and its memory, and nothing of other tenants for anybody."""

import re
from typing import Any

from django.contrib.auth.models import Group, User
from django.contrib.messages import get_messages
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from memorybank import services
from memorybank.models import Bank, Chat, Entry, Erasure, Event, Fact, Output
from memorybank.writing.fact_store import new_fact
from projects.models import Membership, Project, Role, Tenant
from tests.support.cast import NOON, Cast, without_models
from tests.support.factories import block_of

FACT = "We decided that Lisbon hosts the launch on 17 May 2026."


@without_models
class AdminCase(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def change_url(self, obj: Any) -> str:
        return reverse(f"admin:{obj._meta.label_lower.replace('.', '_')}_change", args=[obj.pk])

    def list_url(self, model: Any) -> str:
        return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")

    def filled(self, **changes: Any) -> dict[str, Any]:
        """The project form as the page offers it, with ``changes``; None leaves a field out."""
        bank = Bank()
        form = {
            "slug": "apollo",
            "name": "Apollo",
            "system_prompt": "",
            "max_tokens": bank.max_tokens,
            "recall_tokens": bank.recall_tokens,
            "personal_tokens": bank.personal_tokens,
            "idle_minutes": bank.idle_minutes,
            "timezone": bank.timezone,
            "focus": "",
            "redact_personal": "on",
            **changes,
        }
        return {name: value for name, value in form.items() if value is not None}

    def save(self, **changes: Any) -> Any:
        response = self.client.post(self.change_url(self.apollo), self.filled(**changes))
        self.apollo.bank.refresh_from_db()
        return response


class WordsTest(AdminCase):
    def test_lists_and_forms_say_message_as_the_pages_do(self) -> None:
        self.client.force_login(self.root)
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", FACT)
        pages = [self.client.get(self.list_url(Entry)).content.decode()]
        services.erase(self.apollo.bank, author="bob", actor="root")
        pages.append(self.client.get(self.list_url(Erasure)).content.decode())
        for page in pages:
            self.assertIn(">Messages<", page)
            self.assertNotIn("Turns", page)
        form = self.client.get(self.change_url(self.apollo)).content.decode()
        self.assertIn("Days to keep messages", form)
        self.assertIsNone(re.search(r"\bturns?\b", form))


class MemorySwitchTest(AdminCase):
    def test_memory_cannot_be_switched_on_before_the_disclosure_is_ticked(self) -> None:
        page = self.save(enabled="on")

        self.assertContains(page, "tick this box before memory can be switched on")
        self.assertFalse(self.apollo.bank.enabled)

    def test_it_keeps_who_accepted_the_disclosure_and_when(self) -> None:
        self.save(enabled="on", disclosure_read="on")
        bank = self.apollo.bank
        page = self.client.get(self.change_url(self.apollo))

        self.assertTrue(bank.enabled)
        self.assertEqual(bank.disclosure_accepted_by, "alice")
        self.assertIsNotNone(bank.disclosure_accepted_at)
        self.assertContains(page, "by alice, ")
        self.assertNotContains(page, 'name="disclosure_read"')

    def test_it_is_accepted_once(self) -> None:
        self.save(enabled="on", disclosure_read="on")
        self.save()
        self.assertFalse(self.apollo.bank.enabled)

        self.save(enabled="on")
        self.assertTrue(self.apollo.bank.enabled)
        self.assertEqual(list(Event.objects.values_list("action", flat=True)), ["enable", "disable", "enable"])

    def test_the_disclosure_counts_what_would_be_summarised(self) -> None:
        for key, question in (("one", "a"), ("one", "b"), ("two", "c"), ("three", "d")):
            services.record(self.apollo.bank, chat_key=key, author="bob", question=question, created_at=NOON, now=NOON)
        services.set_audience(self.apollo.bank, chat_key="three", readers=(), actor="bob", now=NOON)
        page = self.client.get(self.change_url(self.apollo))

        self.assertContains(page, "Recorded so far: 2 chats, 3 messages.")
        self.assertContains(page, "2 chats of 1 person, 3 messages, about ")
        self.assertContains(page, "1 private chat is left out")
        self.assertContains(page, "nobody has written in it for 10 minutes")

    def test_history_is_taken_in_only_by_choice(self) -> None:
        for choice, left_out in (("", True), ("include", False)):
            with self.subTest(choice), transaction.atomic():
                services.record(
                    self.apollo.bank, chat_key="c", author="bob", question="Old.", created_at=NOON, now=NOON
                )
                self.save(enabled="on", disclosure_read="on", history=choice)
                self.assertEqual(Output.objects.get().predates_memory, left_out)
                transaction.set_rollback(True)

    def test_a_new_project_comes_with_its_bank(self) -> None:
        form = self.filled(tenant=self.acme.pk, slug="hermes", name="Hermes", max_tokens=500)
        self.client.post(reverse("admin:projects_project_add"), {**form, "enabled": "on", "disclosure_read": "on"})

        project = Project.objects.get(slug="hermes")
        self.assertEqual((project.bank.max_tokens, project.bank.enabled), (500, True))

    def test_the_operator_opens_every_page_on_which_a_row_is_added(self) -> None:
        self.client.force_login(self.root)
        opened = []
        for app in self.client.get(reverse("admin:index")).context["app_list"]:
            for model in app["models"]:
                if model["add_url"]:
                    self.assertEqual(self.client.get(model["add_url"]).status_code, 200)
                    opened.append(model["object_name"])
        self.assertIn("Project", opened)

    def test_settings_are_changed_through_the_audit_trail(self) -> None:
        self.save(max_tokens=4000, timezone="Europe/Berlin", focus="Decisions.", redact_personal=None)
        bank = self.apollo.bank

        self.assertEqual((bank.max_tokens, bank.timezone, bank.focus), (4000, "Europe/Berlin", "Decisions."))
        self.assertFalse(bank.redact_personal)
        self.assertEqual(Event.objects.get().actor, "alice")

    def test_saving_unchanged_leaves_no_trace(self) -> None:
        self.save()

        self.assertFalse(Event.objects.exists())

    def test_a_wrong_setting_is_refused_at_its_field_with_the_limit(self) -> None:
        for field, value, limit in (
            ("max_tokens", 199, "200"),
            ("max_tokens", 32_001, "32000"),
            ("recall_tokens", 8_001, "8000"),
            ("idle_minutes", 0, "1"),
            ("timezone", "Mars/Base", "Mars/Base"),
            ("focus", "x" * 1001, "1000"),
            ("slug", "Not a slug", "lower-case"),
        ):
            with self.subTest(field=field):
                form = self.save(**{field: value}).context["adminform"].form
                self.assertEqual(list(form.errors), [field])
                self.assertIn(limit, str(form.errors[field]))

    def test_a_project_does_not_move_to_another_tenant(self) -> None:
        self.client.force_login(self.root)
        self.save(tenant=self.globex.pk)

        self.apollo.refresh_from_db()
        self.assertEqual(self.apollo.tenant, self.acme)


class TenancyTest(AdminCase):
    """What a staff member of one tenant can learn about another: nothing. ``test_strangers`` walks over all pages."""

    def test_histories_count_no_accounts_and_no_groups(self) -> None:
        for name, there in (("user", self.charlie), ("group", Group.objects.create(name="x"))):
            addresses = [reverse(f"admin:auth_{name}_history", args=[pk]) for pk in (there.pk, there.pk + 1_000)]
            self.assertEqual([self.client.get(address).status_code for address in addresses], [403, 403])

    def test_another_tenant_is_no_choice_for_a_new_project(self) -> None:
        page = self.client.get(reverse("admin:projects_project_add"))
        form = self.filled(tenant=self.globex.pk, slug="trojan", name="Trojan")
        self.client.post(reverse("admin:projects_project_add"), form)

        self.assertNotContains(page, "Globex")
        self.assertFalse(Project.objects.filter(slug="trojan").exists())

    def test_a_member_who_is_staff_but_no_admin_sees_no_tenant(self) -> None:
        dora = self.person("dora", self.acme, Role.MEMBER, is_staff=True)
        self.client.force_login(dora)

        for model in (Tenant, Project, Bank, Fact):
            self.assertNotIn("apollo", self.client.get(self.list_url(model)).content.decode().lower())


class MembersTest(AdminCase):
    def give(self, actor: User, name: str, role: Role) -> Any:
        self.client.force_login(actor)
        form = {"tenant": self.acme.pk, "user": name, "role": role}
        return self.client.post(reverse("admin:projects_membership_add"), form)

    def test_a_superuser_adds_people_by_name(self) -> None:
        User.objects.create_user("erin")
        self.give(self.root, "erin", Role.ADMIN)

        self.assertEqual(Membership.objects.get(user__username="erin").role, Role.ADMIN)

    def test_an_unknown_name_is_refused(self) -> None:
        self.assertContains(self.give(self.root, "nobody", Role.MEMBER), "There is no user “nobody”.")

    def test_nobody_gives_a_role_above_her_own(self) -> None:
        adam = self.person("adam", self.acme, Role.ADMIN, is_staff=True)
        self.client.force_login(adam)
        bob = Membership.objects.get(user=self.bob)
        page = self.client.post(self.change_url(bob), {"role": Role.OWNER})

        self.assertContains(page, "Only a member with the role “Owner” may give it.")

    def test_nobody_removes_a_member_above_her(self) -> None:
        adam = self.person("adam", self.acme, Role.ADMIN, is_staff=True)
        self.client.force_login(adam)
        alice = Membership.objects.get(user=self.alice)
        url = reverse("admin:projects_membership_delete", args=[alice.pk])

        self.assertEqual(self.client.post(url, {"post": "yes"}).status_code, 403)
        self.client.post(
            self.list_url(Membership),
            {"action": "delete_selected", "_selected_action": [alice.pk], "post": "yes"},
        )
        self.assertTrue(Membership.objects.filter(pk=alice.pk).exists())


class DeletionTest(AdminCase):
    def test_deleting_a_project_deletes_its_memory(self) -> None:
        bank = self.apollo.bank.pk
        url = reverse("admin:projects_project_delete", args=[self.apollo.pk])
        self.assertContains(self.client.get(url), "with everything it remembers")
        self.client.post(url, {"post": "yes"})

        self.assertFalse(Bank.objects.filter(pk=bank).exists())

    def test_deleting_a_tenant_deletes_its_projects_and_their_memory(self) -> None:
        self.client.force_login(self.root)
        self.client.post(reverse("admin:projects_tenant_delete", args=[self.acme.pk]), {"post": "yes"})

        self.assertEqual(list(Tenant.objects.all()), [self.globex])
        self.assertEqual(Bank.objects.get(), self.zeus.bank)

    def test_deleting_several_at_once_does_the_same(self) -> None:
        self.client.force_login(self.root)
        chosen = {"action": "delete_selected", "_selected_action": [self.acme.pk, self.globex.pk], "post": "yes"}
        self.client.post(self.list_url(Tenant), chosen)

        self.assertFalse(Bank.objects.exists())

    def test_only_superusers_add_and_delete_tenants(self) -> None:
        for name, args in (("add", []), ("delete", [self.acme.pk])):
            url = reverse(f"admin:projects_tenant_{name}", args=args)
            self.assertEqual(self.client.post(url, {"post": "yes"}).status_code, 403)


class MemoryTest(AdminCase):
    """Looking at what is remembered, and asking why."""

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", FACT)
        cls.fact = Fact.objects.filter(text__contains="Lisbon").first()
        assert cls.fact

    def test_the_bank_s_page_shows_the_block_to_the_byte(self) -> None:
        block, tokens = block_of(self.apollo.bank)
        page = self.client.get(self.change_url(self.apollo.bank))

        self.assertContains(page, f">{escape(block)}</pre>", html=False)
        self.assertContains(page, f"{tokens:,} of 2,000")

    def test_the_project_links_to_what_the_model_is_told(self) -> None:
        self.assertContains(self.client.get(self.change_url(self.apollo)), self.change_url(self.apollo.bank))

    def test_a_fact_s_page_shows_the_turns_it_rests_on(self) -> None:
        page = self.client.get(self.change_url(self.fact))

        self.assertContains(page, "Why does it say this?")
        self.assertContains(page, "<dt>bob</dt>")

    def test_who_has_read_turns_is_on_the_audit_trail_and_what_they_say_is_not(self) -> None:
        for url in (self.list_url(Fact), self.change_url(self.fact.entry), self.change_url(self.apollo.bank)):
            self.client.get(url)
        self.assertFalse(Event.objects.filter(action="read").exists())
        self.client.get(self.change_url(self.fact))

        event = Event.objects.get(action="read")
        self.assertEqual((event.bank, event.actor, event.action), (self.apollo.bank, "alice", "read"))
        self.assertEqual(event.detail, {"fact": self.fact.pk, "outputs": self.fact.citations})
        self.assertContains(self.client.get(self.list_url(Event)), "alice")

    def test_a_fact_held_back_says_why(self) -> None:
        Fact.objects.filter(pk=self.fact.pk).update(quarantine="reads like an instruction")
        for url in (self.list_url(Fact), self.change_url(self.fact), self.change_url(self.fact.entry)):
            self.assertContains(self.client.get(url), "quarantined: reads like an instruction")
        page = self.client.get(self.list_url(Fact), {"quarantined": "no"})
        self.assertNotContains(page, "reads like an instruction")

    def release(self, fact: Fact) -> Any:
        chosen = {"action": "release", "_selected_action": [fact.pk]}
        return self.client.post(self.list_url(Fact), chosen)

    def test_owners_and_superusers_release_lines_held_back(self) -> None:
        for person in (self.alice, self.root):
            with self.subTest(person=person.username):
                Fact.objects.filter(pk=self.fact.pk).update(quarantine="reads like an instruction", released_by="")
                self.client.force_login(person)
                response = self.release(self.fact)
                self.fact.refresh_from_db()
                self.assertEqual((self.fact.quarantine, self.fact.released_by), ("", person.username))
                messages = [str(message) for message in get_messages(response.wsgi_request)]
                self.assertEqual(messages[-1], "1 line is released; the next sweep shows it.")
                event = Event.objects.filter(action="release").first()
                assert event
                self.assertEqual((event.bank, event.actor), (self.apollo.bank, person.username))

    def test_nobody_else_releases_lines(self) -> None:
        Fact.objects.filter(pk=self.fact.pk).update(quarantine="reads like an instruction")
        dora = self.person("dora", self.acme, Role.MEMBER, is_staff=True)
        zoe = self.person("zoe", self.globex, Role.OWNER, is_staff=True)
        for person in (self.bob, self.charlie, dora, zoe):
            self.client.force_login(person)
            self.release(self.fact)
            self.fact.refresh_from_db()
            self.assertEqual((self.fact.quarantine, self.fact.released_by), ("reads like an instruction", ""))

    def test_lines_of_private_chats_are_not_released(self) -> None:
        Fact.objects.filter(pk=self.fact.pk).update(quarantine="reads like an instruction")
        Chat.objects.filter(key="told").update(private=True)  # as before what came from it was erased
        self.release(self.fact)
        self.fact.refresh_from_db()
        self.assertEqual(self.fact.released_by, "")

    def queries(self, model: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            self.client.get(self.list_url(model))
        return len(captured)

    def test_beside_a_line_held_back_stands_how_many_of_its_author_are(self) -> None:
        Fact.objects.filter(pk=self.fact.pk).update(quarantine="reads like an instruction")
        self.assertContains(self.client.get(self.list_url(Fact)), "1 line<")
        for number in range(2):
            self.remember(self.apollo, "bob", f"The budget of team {number} is {number}00 euros.", f"c{number}")
        Fact.objects.filter(speaker="bob").update(quarantine="reads like an instruction")
        before = self.queries(Fact)
        held = Fact.objects.filter(speaker="bob").count()
        self.assertGreaterEqual(held, 3)
        self.assertContains(self.client.get(self.list_url(Fact)), f"{held} lines – quarantined often")
        Fact.objects.filter(pk=self.fact.pk).update(speaker="noted from bob")  # a model's words of the same author
        self.assertContains(self.client.get(self.list_url(Fact)), f"{held} lines – quarantined often", count=held)
        self.remember(self.apollo, "tom", "The budget of team nine is 900 euros.", "c9")
        Fact.objects.filter(speaker="tom").update(quarantine="reads like an instruction")
        self.assertEqual(self.queries(Fact), before)

    def test_memory_is_looked_at_not_changed(self) -> None:
        for obj in (self.fact, self.fact.entry, self.fact.entry.chat, self.apollo.bank):
            self.assertEqual(self.client.post(self.change_url(obj), {"text": "forged"}).status_code, 403)

    def test_what_comes_from_a_private_chat_is_not_shown(self) -> None:
        services.set_audience(self.apollo.bank, chat_key="told", readers=(), actor="bob", now=NOON)

        for model in (Fact, Entry, Bank):
            self.assertNotContains(self.client.get(self.list_url(model)), "Lisbon")
        self.assertNotEqual(self.client.get(self.change_url(self.fact)).status_code, 200)
        Chat.objects.update(title="Where Lisbon came up")
        for url in (self.list_url(Chat), self.change_url(Chat.objects.get(key="told"))):
            page = self.client.get(url)
            self.assertContains(page, "private chat")
            self.assertNotContains(page, "Lisbon")

    def test_titles_and_cited_turns_are_shown_without_secrets(self) -> None:
        text = "Lisbon: the password is Copper55Lake"
        Output.objects.filter(pk__in=self.fact.citations).update(question=text, answer="Noted: Copper55Lake")
        Chat.objects.update(title=text)
        chat = Chat.objects.get(key="told")
        for url in (self.list_url(Chat), self.change_url(chat), self.change_url(self.fact)):
            page = self.client.get(url)
            self.assertContains(page, "[redacted: password]")
            self.assertNotContains(page, "Copper55Lake")

    def test_a_digest_resting_on_a_private_chat_is_withheld(self) -> None:
        bank, leaf = self.apollo.bank, self.fact.entry
        times = {"first_at": leaf.first_at, "last_at": leaf.last_at, "period_start": leaf.period_start}
        day = bank.entries.create(granularity="day", output_count=1, method="test", **times)
        line = new_fact(day, position=1, text=FACT, said_on=leaf.period_start, tokens=9, citations=[self.fact.pk])
        Fact.objects.create_cited([line])
        self.assertContains(self.client.get(self.change_url(line)), "Summarised from these lines")
        Chat.objects.filter(key="told").update(private=True)  # as before what came from it was erased

        for url in (self.list_url(Fact), self.change_url(line), self.change_url(day)):
            page = self.client.get(url)
            self.assertContains(page, "private now")
            self.assertNotContains(page, "Lisbon")

    def test_what_people_wrote_is_shown_as_text(self) -> None:
        Fact.objects.filter(pk=self.fact.pk).update(text="<script>alert(1)</script> Lisbon")
        for url in (self.list_url(Fact), self.change_url(self.fact), self.change_url(self.fact.entry)):
            self.assertNotContains(self.client.get(url), "<script>alert")

    def test_parked_chats_are_retried_on_demand(self) -> None:
        Chat.objects.filter(key="told").update(parked_at=NOON, attempts=5, last_error="HTTP 400: no")
        chat = Chat.objects.get(key="told")
        self.assertContains(self.client.get(self.list_url(Chat), {"parked": "yes"}), "HTTP 400: no")
        chosen = {"action": "retry_parked", "_selected_action": [chat.pk]}
        response = self.client.post(self.list_url(Chat), chosen)

        chat.refresh_from_db()
        self.assertIsNone(chat.parked_at)
        self.assertEqual([str(m) for m in get_messages(response.wsgi_request)], ["1 parked chat will be tried again."])
