"""On PostgreSQL the database itself keeps banks apart: a query that forgets its bank finds nothing of another."""

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.db import DatabaseError, connection, transaction
from django.db.models import QuerySet
from django.test import TestCase, override_settings
from django.urls import reverse
from django.utils import timezone

from memorybank import bank_scope, prepared, services, tasks
from memorybank.models import Bank, Chat, Fact, LLMCall, Output, SearchDocument
from memorybank.postgresql import row_security
from projects.models import APIKey, Invitation, Project, Role, Scope, Tenant, TenantEvent
from projects.tenancy import members, permissions
from tests.support.cast import NOON, Cast, without_models
from tests.support.commands import run

ROLE = "memorybank_row_security_tests"
VAULT, FERRY = "The vault of Lisbon opens in June.", "The ferry to Ostend sails in March."


def switched_on() -> Any:
    """The setting, as ``migrate`` and new connections read it."""
    return override_settings(MEMORYBANK={**settings.MEMORYBANK, "ROW_SECURITY_ROLE": ROLE})


def without_filter(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The same query after somebody has forgotten its conditions."""
    forgetful = rows.order_by()
    forgetful.query.where = type(forgetful.query.where)()
    return forgetful


@without_models
@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has row-level security")
class SeparatedCase(Cast):
    """Two projects with memory, on a connection whose role the policies bind. All of it is rolled back."""

    def setUp(self) -> None:
        super().setUp()
        for project, sentence in ((self.apollo, VAULT), (self.zeus, FERRY)):
            self.switch_on(project)
            self.remember(project, "bob", sentence)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"CREATE ROLE {ROLE}")
            with switched_on():
                row_security.install("default")
                row_security.attach(connection)
            self.addCleanup(connection.execute_wrappers.remove, bank_scope.send_with)
            self.enterContext(patch.dict(connection.settings_dict, DISABLE_SERVER_SIDE_CURSORS=True))
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            cursor.execute(f"SET LOCAL ROLE {ROLE}")

    def own_rows(self, project: Project, query: Callable[[Bank], QuerySet[Any]]) -> tuple[int, int]:
        """How many rows a query finds in its bank, and how many without its filter."""
        with bank_scope.banks_entered(project.bank_id):
            return query(project.bank).count(), without_filter(query(project.bank)).count()

    def invite(self, tenant: Tenant, email: str = "erin@example.com") -> Invitation:
        """An invitation, and the event that tells of it."""
        return members.invite(tenant, email=email, role=Role.MEMBER, by=self.root, now=timezone.now())


class QueriesTest(SeparatedCase):
    def test_a_query_that_forgets_its_bank_finds_nothing_of_another(self) -> None:
        for query in (services.facts_of, services.entries_of, services.chats_of, services.outputs_of):
            with self.subTest(query=query.__name__):
                rows, forgetful = self.own_rows(self.apollo, query)
                self.assertEqual(forgetful, rows)
                self.assertGreater(rows, 0)
                self.assertGreater(without_filter(query(self.apollo.bank)).count(), rows)  # seen from outside

    def test_each_table_with_words_shows_the_rows_of_its_bank_and_no_others(self) -> None:
        filled = 0
        for model, lookup in row_security.separated().items():
            rows = model._default_manager
            with self.subTest(table=model.__name__):
                with bank_scope.banks_entered(self.zeus.bank_id):
                    count = rows.filter(**{lookup: self.zeus.bank_id}).count()
                    self.assertEqual(rows.count(), count)
                filled += bool(count)
                with bank_scope.banks_entered():
                    self.assertEqual(rows.count(), 0)
        self.assertGreater(filled, 8)  # it was no comparison of empty tables

    def test_a_query_that_forgets_its_tenant_finds_nothing_of_another(self) -> None:
        for tenant in (self.acme, self.globex):
            self.invite(tenant)
        for query in (lambda tenant: tenant.invitations.all(), lambda tenant: tenant.events.all()):
            everything = query(self.acme).count() + query(self.globex).count()
            bank_scope.enter(self.apollo.bank_id, owners=[self.acme.pk])
            rows, forgetful = query(self.acme).count(), without_filter(query(self.acme)).count()
            self.assertEqual(forgetful, rows)
            self.assertGreater(everything, rows)
            self.assertGreater(rows, 0)
            self.assertEqual(query(self.globex).count(), 0)
            with bank_scope.banks_entered(self.apollo.bank_id):  # a bank alone opens no tenant
                self.assertEqual(query(self.acme).count(), 0)
            bank_scope.enter_all_banks()

    def test_nothing_is_written_into_another_tenant(self) -> None:
        self.invite(self.globex)
        bank_scope.enter(owners=[self.acme.pk])
        for write in (
            lambda: self.globex.invitations.create(email="ann@example.com", invited_by=self.root, sent_at=NOON),
            lambda: TenantEvent(tenant=self.globex, number=9, actor="eve", action="join", at=NOON).save(),
        ):
            with self.assertRaisesMessage(DatabaseError, "row-level security"), transaction.atomic():
                write()
        self.assertEqual(Invitation.objects.update(role=Role.OWNER), 0)

    def test_nothing_is_found_where_no_bank_was_entered(self) -> None:
        bank_scope.leave()
        self.assertEqual((Output.objects.count(), Bank.objects.count(), Fact.objects.count()), (0, 0, 0))
        self.assertEqual(Fact.objects.update(text="changed"), 0)

    def test_nothing_is_written_into_another_bank(self) -> None:
        theirs = Chat.objects.get(bank=self.zeus.bank)
        with bank_scope.banks_entered(self.apollo.bank_id):
            for write in (
                lambda: LLMCall.objects.create(bank=self.zeus.bank, purpose="chat", model="m", outcome="ok", at=NOON),
                lambda: Output.objects.create(chat=theirs, question="Forged", sequence=99, created_at=NOON),
                lambda: Chat.objects.filter(bank=self.apollo.bank).update(bank=self.zeus.bank),
            ):
                with self.assertRaisesMessage(DatabaseError, "row-level security"), transaction.atomic():
                    write()

    def test_rows_that_are_sent_together_are_bound_too(self) -> None:
        chats = list(Chat.objects.all())
        for chat in chats:
            chat.title = "renamed"
        with bank_scope.banks_entered(self.apollo.bank_id):
            prepared.update(chats, ["title"])
        self.assertEqual({chat.bank_id for chat in Chat.objects.filter(title="renamed")}, {self.apollo.bank_id})

    def test_the_search_index_is_still_used(self) -> None:
        with bank_scope.banks_entered(self.apollo.bank_id), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("EXPLAIN SELECT output_id FROM memorybank_searchdocument WHERE search @@ 'b1'::tsquery")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        self.assertIn("memorybank_search", plan)
        self.assertIn("Index Cond: (search @@", plan)


class DoorsTest(SeparatedCase):
    """Each way in enters the bank of its project, and everything works there as before."""

    def page(self, address: str, *args: str) -> str:
        response = self.client.get(reverse(address, args=args))
        self.assertEqual(response.status_code, 200, address)
        return b"".join(response).decode() if response.streaming else response.content.decode()

    def test_pages_of_members(self) -> None:
        self.client.force_login(self.alice)
        chat = self.begin_chat(self.alice, self.apollo)
        self.assertIn("Apollo", self.page("home"))
        for name in ("project", "memory", "memory-facts", "memory-timeline", "memory-review", "memory-mine"):
            self.page(name, "acme", "apollo")
        self.assertIn("Lisbon", self.page("memory-facts", "acme", "apollo"))
        self.page("chat", "acme", "apollo", chat.key)
        self.page("people", "acme")
        self.assertEqual(self.say(self.alice, chat, "When does the vault open?").status_code, 200)
        self.assertEqual(self.client.get(reverse("memory", args=["globex", "zeus"])).status_code, 404)

    def test_invitations(self) -> None:
        """From the page of an owner to a member, and on record, who sees nothing of another tenant's."""
        self.invite(self.globex, "zoe@example.com")
        self.client.force_login(self.alice)
        invited = {"email": "erin@example.com", "role": Role.MEMBER}
        self.assertEqual(self.client.post(reverse("invite", args=["acme"]), invited).status_code, 302)
        people = self.page("people", "acme")
        self.assertIn("erin@example.com", people)
        self.assertNotIn("zoe@example.com", people)
        link = reverse("invitation", args=[members.token(self.acme.invitations.get())])
        self.client.logout()
        bank_scope.leave()
        form = dict.fromkeys(("new_password1", "new_password2"), "correct horse battery")
        self.assertContains(self.client.get(link), "Acme")
        self.assertRedirects(self.client.post(link, form), reverse("home"))
        self.assertFalse(self.acme.invitations.exists())
        self.client.force_login(self.alice)
        self.assertIn("erin@example.com", self.page("tenant-activity", "acme"))
        self.client.post(reverse("invite", args=["acme"]), {**invited, "email": "fay@example.com"})
        self.client.post(reverse("withdraw", args=["acme"]), {"email": "fay@example.com"})
        self.assertEqual([*self.acme.events.values_list("action", flat=True)], ["withdraw", "invite", "join", "invite"])
        self.assertIn("alice", self.page("admin:projects_tenantevent_changelist"))

    def test_pages_of_operators(self) -> None:
        for user, seen in ((self.alice, {self.apollo.bank_id}), (self.root, {self.apollo.bank_id, self.zeus.bank_id})):
            self.client.force_login(user)
            for name in ("index", *(f"{model}_changelist" for model in (
                "projects_project", "memorybank_fact", "memorybank_chat", "memorybank_event", "memorybank_llmcall",
            ))):  # fmt: skip
                self.page(f"admin:{name}")
            permissions.enter_banks_for(user)
            self.assertEqual(set(Bank.objects.values_list("pk", flat=True)), seen)
        self.page("memory", "globex", "zeus")

    def test_the_api_and_agents(self) -> None:
        _, secret = APIKey.issue(self.apollo, "Importer", Scope)
        headers = {"Authorization": f"Bearer {secret}"}

        def post(path: str, body: dict[str, Any]) -> Any:
            response = self.client.post(path, json.dumps(body), "application/json", headers=headers)
            self.assertLess(response.status_code, 300, response.content)
            return response.json()

        post(
            "/api/v1/outputs", {"chat": "api", "author": "bob", "question": "The crane is orange.", "answer": "Noted."}
        )
        self.assertIn("Lisbon", json.dumps(post("/api/v1/recall", {"question": "When does the vault of Lisbon open?"})))
        post("/api/v1/webhooks", {"url": "https://hooks.example.com/", "events": []})
        self.assertEqual(self.acme.events.get().action, TenantEvent.Action.HOOK)
        exported = b"".join(self.client.get("/api/v1/export", headers=headers)).decode()
        self.assertIn(VAULT, exported)
        self.assertNotIn("Ostend", exported)
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "project_memory", "arguments": {}},
        }
        agents = {**headers, "Accept": "application/json, text/event-stream"}
        answer = self.client.post("/mcp", json.dumps(call), "application/json", headers=agents)
        self.assertIn("Lisbon", answer.content.decode())

    def test_commands(self) -> None:
        bank_scope.leave()
        for command in (
            ("check_memory",),
            ("show_memory", "acme/apollo"),
            ("recall_memory", "acme/apollo", "the vault?"),
        ):
            done = run(*command)
            self.assertEqual(done.code, 0, done)
        self.assertIn("Lisbon", run("show_memory", "acme/apollo").out)
        self.assertEqual((done := run("forget_memory", "acme/apollo", "--author", "bob")).code, 0, done)
        self.assertNotIn("Lisbon", run("show_memory", "acme/apollo").out)
        self.assertIn("Ostend", run("show_memory", "globex/zeus").out)
        self.assertEqual(run("create_tenant", "hooli", "--owner", "root").code, 0)
        self.assertEqual(
            (done := run("create_api_key", "acme/apollo", "--name", "CI", "--scopes", "read")).code, 0, done
        )
        bank_scope.enter_all_banks()
        logged = TenantEvent.objects.values_list("tenant__slug", "action")
        self.assertEqual(set(logged), {("hooli", "create"), ("acme", "issue")})

    def test_the_worker(self) -> None:
        for project in (self.apollo, self.zeus):
            with bank_scope.banks_entered(project.bank_id):
                turn = {"author": "bob", "question": "The crane is red.", "answer": "Noted.", "created_at": NOON}
                services.record(project.bank, chat_key="more", now=NOON, **turn)
        bank_scope.leave()
        tasks.sweep.apply()
        bank_scope.leave()
        tasks.work.apply()
        with bank_scope.all_banks_entered():
            self.assertEqual(Chat.objects.filter(pending_outputs__gt=0).count(), 0)
            self.assertEqual(SearchDocument.objects.count(), 4)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has row-level security")
class ChecksTest(TestCase):
    def found(self, **options: Any) -> list[str]:
        return [str(check.msg) for check in run_checks(**options) if str(check.id).startswith("memorybank.W")]

    def test_they_say_that_it_is_off(self) -> None:
        self.assertIn("Row-level security is off", " ".join(self.found(include_deployment_checks=True)))
        with switched_on():
            self.assertNotIn("Row-level security is off", " ".join(self.found(include_deployment_checks=True)))

    def test_they_say_what_weakens_it(self) -> None:
        with switched_on(), connection.cursor() as cursor:
            text = " ".join(self.found(databases=["default"]))
            self.assertIn("there is no role", text)
            self.assertIn("missing on", text)
            cursor.execute(f"CREATE ROLE {ROLE}")
            row_security.install("default")
            self.assertEqual(self.found(databases=["default"]), [])
            cursor.execute("ALTER TABLE memorybank_fact NO FORCE ROW LEVEL SECURITY")
            cursor.execute(f"ALTER TABLE memorybank_entry OWNER TO {ROLE}")
            cursor.execute(f"ALTER TABLE memorybank_event OWNER TO {ROLE}")
            text = " ".join(self.found(databases=["default"]))
            self.assertIn("owns tables", text)
            self.assertIn("missing on memorybank_fact.", text)

    def test_migrating_without_the_role_takes_it_away(self) -> None:
        with switched_on(), connection.cursor() as cursor:
            cursor.execute(f"CREATE ROLE {ROLE}")
            row_security.install("default")
        row_security.install("default")
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_class WHERE relrowsecurity OR relforcerowsecurity")
            self.assertEqual(cursor.fetchone(), (0,))
