"""What one tenant's people can learn of another's, or of a private chat, by asking oddly: nothing."""

import re
from itertools import product
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management.color import no_style
from django.db import connection
from django.urls import reverse

from memorybank import services
from memorybank.models import Bank, Chat, Entry, Event, Fact, LLMCall, Output
from memorybank.services import PublicId, public_id
from memorybank.writing.fact_store import new_fact
from projects.models import Membership, Project, Role, Tenant
from tests.projects.admin.test_admin import FACT, AdminCase
from tests.support.cast import NOON
from tests.support.requirements import IS_CI, some

ADMIN_MODELS = (Tenant, Membership, Project, Bank, Entry, Fact, Chat, LLMCall, Event)
#: In CI every eighth odd value goes to one page with one name. With nine pages, all values reach each page and name.
STRIDE = 8 if IS_CI else 24


class LookupTest(AdminCase):
    """Alice looks; Bob's private chat and its facts are not for her."""

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", FACT)
        fact = Fact.objects.get(text__contains="Lisbon")
        leaf = fact.entry
        times = {"first_at": leaf.first_at, "last_at": leaf.last_at, "period_start": leaf.period_start}
        day = Entry.objects.create(bank=cls.apollo.bank, granularity="day", output_count=1, method="test", **times)
        Entry.objects.filter(pk=leaf.pk).update(parent=day)
        line = new_fact(day, position=1, text=FACT, said_on=leaf.period_start, tokens=9, citations=[fact.pk])
        line.speaker = "bob"
        Fact.objects.create_cited([line])
        # As chats were left before making one private erased what came from it: a second fence behind that.
        Chat.objects.filter(key="told").update(private=True, title="Where Lisbon came up")
        services.record(cls.apollo.bank, chat_key="open", author="bob", question="Hello", now=NOON)

    def rows(self, model: Any, **query: Any) -> int | None:
        page = self.client.get(self.list_url(model), query)
        return page.context["cl"].result_count if page.status_code == 200 else None

    def test_no_lookup_but_those_of_the_filters_is_answered(self) -> None:
        for model, lookup in (
            (Chat, "title__startswith"), (Chat, "title__regex"), (Chat, "outputs__question__contains"),
            (Chat, "key__startswith"), (Fact, "text__startswith"), (Fact, "entry__chat__title__startswith"),
            (Entry, "facts__text__startswith"), (Entry, "parent__facts__text__regex"),
            (Bank, "chats__title__startswith"), (Bank, "project__tenant__memberships__user__password__startswith"),
            (Event, "detail__startswith"), (LLMCall, "error__regex"), (Project, "bank__chats__title__regex"),
            (Tenant, "memberships__user__password__startswith"), (Membership, "user__email__startswith"),
            (Membership, "user__conversations__chat__title__startswith"), (Project, "system_prompt__regex"),
        ):  # fmt: skip
            for value in ("Where L", "[", "x"):
                with self.subTest(model=model.__name__, lookup=lookup):
                    self.assertEqual(self.client.get(self.list_url(model), {lookup: value}).status_code, 400)

    def test_the_filters_themselves_work(self) -> None:
        for model in ADMIN_MODELS:
            page = self.client.get(self.list_url(model))
            links = sorted(set(re.findall(r'href="\?([^"]*=[^"]*)"', page.content.decode())))
            for link in some(links, one_in=4):
                with self.subTest(model=model.__name__, link=link):
                    url = f"{self.list_url(model)}?{link.replace('&amp;', '&')}"
                    self.assertEqual(self.client.get(url).status_code, 200)

    def test_a_withheld_line_is_not_found_by_its_words_nor_placed_by_its_beginning(self) -> None:
        for question in ("Lisbon", "L", "bob", "launch 17"):
            self.assertEqual(self.rows(Fact, q=question), 0, question)
        self.assertEqual(self.rows(Fact), 1)
        self.assertEqual(self.rows(Chat, q="Lisbon"), 2)  # no search there
        page = self.client.get(self.list_url(Fact))
        self.assertNotContains(page, "bob</td>")
        for name in ("line", "said_by"):
            self.assertIsNone(page.context["cl"].get_ordering_field(name))

    def test_garbage_is_no_fault_of_the_server(self) -> None:
        names = (
            "q",
            "o",
            "p",
            "e",
            "all",
            "bank",
            "tenant",
            "project",
            "parked",
            "quarantined",
            "enabled__exact",
            "kind__exact",
        )
        names += ("tenant__id__exact", "granularity__exact", "at__year", "at__month", "purpose__exact", "_to_field")
        names += (
            "pinned__exact",
            "private__exact",
            "outcome__exact",
            "action",
            "action__exact",
            "role__exact",
            "_popup",
        )
        odd = ("\x00", "[", "9" * 30, "-1", "²", "%", "' OR 1=1 --", "\ud7ff", "1.2.3.4.5", "-0", "é" * 300)
        for number, (name, model) in enumerate(product(names, ADMIN_MODELS)):
            for value in odd[number % STRIDE :: STRIDE]:
                answer = self.client.get(self.list_url(model), {name: value})
                self.assertIn(answer.status_code, (200, 302, 400, 404), (model.__name__, name, value))

    def test_garbage_in_an_address_is_no_fault_of_the_server(self) -> None:
        for model, value in product(ADMIN_MODELS, ("0", "9" * 30, "-1", "x", "_00", "'", "²")):
            url = self.list_url(model) + f"{value}/change/"
            self.assertIn(self.client.get(url).status_code, (302, 403, 404), url)

    def test_every_class_of_the_admin_has_an_allow_list(self) -> None:
        for model, registered in admin.site._registry.items():
            if model._meta.app_label in ("projects", "memorybank"):
                self.assertFalse(registered.lookup_allowed("pk__gt", "1", None), model)  # type: ignore[arg-type]


class AnswersTest(AdminCase):
    """The same answer, whether a name is another tenant's or nobody's."""

    def test_nobody_is_added_by_name_without_her_yes_but_by_a_superuser(self) -> None:
        User.objects.create_user("erin")
        refused = [(self.alice, name, 403) for name in ("charlie", "erin", "nobody")]
        for actor, name, status in (*refused, (self.root, "charlie", 302)):
            self.client.force_login(actor)
            form = {"tenant": self.acme.pk, "user": name, "role": Role.MEMBER}
            answer = self.client.post(reverse("admin:projects_membership_add"), form)
            self.assertEqual(answer.status_code, status, name)
            self.assertEqual(Membership.objects.filter(tenant=self.acme, user__username=name).exists(), status == 302)

    def test_an_owner_does_not_try_out_other_tenants_slugs(self) -> None:
        for slug in ("globex", "nobodys"):
            data = {"name": "Acme!", "slug": slug, "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
            page = self.client.post(self.change_url(self.acme), data, follow=True)
            self.assertNotContains(page, "already exists")
        self.acme.refresh_from_db()
        self.assertEqual((self.acme.slug, self.acme.name), ("acme", "Acme!"))

    def test_a_project_of_another_tenant_may_have_the_same_slug(self) -> None:
        self.client.post(reverse("admin:projects_project_add"), self.filled(tenant=self.acme.pk, slug="zeus"))
        self.assertEqual(Project.objects.filter(slug="zeus").count(), 2)

    def test_a_page_of_another_tenant_is_no_more_there_than_none(self) -> None:
        self.client.force_login(self.charlie)
        for url in ("/p/acme/apollo/", "/p/acme/none/", "/p/none/none/", "/p/acme/apollo/chats/x/"):
            self.assertEqual(self.client.get(url).status_code, 404)


class LastOwnerTest(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.olga = self.person("olga", self.acme, Role.OWNER, is_staff=True)

    def owners(self) -> list[str]:
        owners = Membership.objects.filter(tenant=self.acme, role=Role.OWNER)
        return sorted(owners.values_list("user__username", flat=True))

    def remove(self, *people: User, one: bool = False) -> Any:
        rows = Membership.objects.filter(tenant=self.acme, user__in=people)
        if one:
            url = reverse("admin:projects_membership_delete", args=[rows.get().pk])
            return self.client.post(url, {"post": "yes"})
        chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
        return self.client.post(self.list_url(Membership), chosen)

    def test_the_last_owner_cannot_be_removed_or_given_a_lesser_role(self) -> None:
        self.remove(self.olga, one=True)
        self.assertEqual(self.owners(), ["alice"])
        page = self.remove(self.alice, one=True)
        self.assertContains(page, "the last owner of Acme")
        self.remove(self.alice)
        mine = Membership.objects.get(tenant=self.acme, user=self.alice)
        for role in (Role.ADMIN, Role.VIEWER):
            page = self.client.post(self.change_url(mine), {"role": role})
            self.assertContains(page, "the last owner of Acme")
        self.assertEqual(self.owners(), ["alice"])

    def test_all_owners_cannot_be_removed_at_once(self) -> None:
        self.remove(self.alice, self.olga, self.bob)
        self.assertEqual(self.owners(), ["alice", "olga"])
        self.assertTrue(Membership.objects.filter(user=self.bob).exists())

    def test_the_tenant_s_page_changes_no_member(self) -> None:
        rows = Membership.objects.filter(tenant=self.acme)
        data = {"name": "Acme", "memberships-TOTAL_FORMS": len(rows), "memberships-INITIAL_FORMS": len(rows)}
        for number, row in enumerate(rows):
            data |= {
                f"memberships-{number}-id": row.pk,
                f"memberships-{number}-DELETE": "on",
                f"memberships-{number}-role": "viewer",
            }
        self.client.post(self.change_url(self.acme), data)
        self.assertEqual(self.owners(), ["alice", "olga"])
        self.assertEqual(Membership.objects.filter(tenant=self.acme).count(), 4)

    def test_a_superuser_may_remove_the_last_owner(self) -> None:
        self.client.force_login(self.root)
        self.remove(self.alice, self.olga)
        self.assertEqual(self.owners(), [])


class NumbersTest(AdminCase):
    """Row numbers of turns count those of all tenants; what leaves the site does not."""

    def test_pages_and_the_api_show_no_row_numbers(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        Output.objects.create(
            pk=987_654_321, sequence=0, chat=chat, author="bob", question="Hello", status="error", created_at=NOON
        )
        with connection.cursor() as cursor:  # the next number is as long, or it is found within a time or a token
            for sql in connection.ops.sequence_reset_sql(no_style(), [Output]):
                cursor.execute(sql)
        answer = self.say(self.bob, chat, "And more")
        page = self.client.get(self.chat_url(chat))
        numbers = [str(pk) for pk in Output.objects.values_list("pk", flat=True)]
        for number in numbers:
            self.assertNotContains(page, number)
            self.assertNotIn(number, answer.content.decode())
        self.assertContains(page, f'id="turn-{answer.json()["output"]}"')
        retry = re.search(r'action="([^"]*/retry)"', page.content.decode())
        assert retry
        self.assertEqual(self.client.post(retry[1]).status_code, 302)

    def test_addresses_in_the_admin_name_no_row(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", FACT)
        self.client.force_login(self.alice)
        for model in ADMIN_MODELS:
            page = self.client.get(self.list_url(model)).content.decode()
            links = re.findall(rf'href="({self.list_url(model)}[^"?]+/change/)[?"]', page)
            for link in links:
                with self.subTest(link=link):
                    self.assertRegex(link, r"/[a-z2-7]{13}/change/$")
                    self.assertEqual(self.client.get(link).status_code, 200)
        fact = Fact.objects.get(entry__bank=self.apollo.bank)
        self.assertEqual(self.client.get(f"{self.list_url(Fact)}{fact.pk}/change/").status_code, 404)
        self.assertIn(f"{public_id(fact.pk)}/change/", self.client.get(self.list_url(Fact)).content.decode())

    def test_public_ids_of_neighbouring_rows_do_not_look_alike_and_all_are_reversible(self) -> None:
        coded = [PublicId().to_url(pk) for pk in range(1, 300)]
        self.assertEqual([PublicId().to_python(item) for item in coded], list(range(1, 300)))
        self.assertEqual(len(set(coded)), 299)
        self.assertNotEqual(coded, sorted(coded))
        self.assertEqual({len(item) for item in coded}, {13})

    def test_an_export_and_a_report_number_what_they_show_from_one(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.zeus, "charlie", "Zeus ships on 1 May 2026.")
        self.remember(self.apollo, "bob", FACT)
        rows = list(services.export(self.apollo.bank, actor="alice"))
        facts = [row for row in rows if row["type"] == "fact"]
        numbers = {row["type"]: row["id"] for row in reversed(rows) if "id" in row}
        self.assertEqual(numbers, {"output": 1, "entry": 1, "fact": 1})
        self.assertEqual(facts[0]["citations"], [1])
        self.assertEqual(facts[0]["entry"], 1)
