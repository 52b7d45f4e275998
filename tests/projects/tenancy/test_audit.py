"""Who lets whom in, and what becomes of a tenant's projects, is in the tenant's audit log; a gap in it is found."""

from typing import Any

from django.db import DatabaseError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from memorybank.exceptions import AppendOnly
from memorybank.models import AuditLog, Erasure, Event, Fact
from projects.models import Invitation, Membership, Role, Tenant, TenantEvent
from projects.tenancy import api_keys, audit, members
from tests.memorybank.monitoring.test_audit_log import around
from tests.projects.admin.test_admin import AdminCase
from tests.support.cast import NOON, without_models
from tests.support.commands import run


@without_models
class TenantTrailTest(AdminCase):
    def trail(self, tenant: Tenant | None = None) -> list[tuple[str, str, Any]]:
        events = (tenant or self.acme).events.order_by("number")
        return list(events.values_list("actor", "action", "detail"))

    def post(self, page: str, **data: Any) -> None:
        self.client.post(reverse(page, args=["acme"]), data)

    def test_what_is_done_on_the_people_page_is_on_it_without_an_address(self) -> None:
        self.post("invite", email="erin@example.com", role="viewer")
        number = Invitation.objects.get().pk
        self.post("withdraw", email="erin@example.com")
        self.post("change-role", person="bob", role="admin")
        self.post("remove-member", person="vera")
        self.post("open-project", project="apollo", open="named", person=["bob"])
        self.assertEqual(
            self.trail(),
            [
                ("alice", "invite", {"invitation": number, "role": "viewer"}),
                ("alice", "withdraw", {"invitation": number}),
                ("alice", "role", {"person": "bob", "before": "member", "after": "admin"}),
                ("alice", "remove", {"person": "vera", "role": "viewer"}),
                ("alice", "open", {"project": "apollo", "members_only": True, "named": ["bob"]}),
            ],
        )

    def test_who_joins_says_so_herself(self) -> None:
        self.charlie.email = "c@example.com"
        invitation = members.invite(self.acme, email="c@example.com", role=Role.VIEWER, by=self.alice, now=NOON)
        members.accept(invitation, self.charlie, now=timezone.now())
        self.assertEqual(
            self.trail()[-1], ("charlie", "join", {"invitation": self.trail()[0][2]["invitation"], "role": "viewer"})
        )

    def test_what_is_refused_is_not_on_it(self) -> None:
        self.post("change-role", person="alice", role="member")
        self.post("remove-member", person="alice")
        self.assertEqual(self.trail(), [])

    def test_the_admin_s_changes_are_on_it(self) -> None:
        bob = Membership.objects.get(user=self.bob)
        self.client.post(self.change_url(bob), {"role": Role.ADMIN})
        self.client.post(reverse("admin:projects_membership_delete", args=[bob.pk]), {"post": "yes"})
        self.client.force_login(self.root)
        self.client.post(
            reverse("admin:projects_membership_add"), {"tenant": self.acme.pk, "user": "bob", "role": "viewer"}
        )
        self.client.post(self.change_url(self.acme), {
            "slug": "acme", "name": "Acme", "monthly_cap": "9.50",
            **{f"memberships-{name}": 0 for name in ("TOTAL_FORMS", "INITIAL_FORMS")},
        })  # fmt: skip
        self.assertEqual(
            self.trail(),
            [
                ("alice", "role", {"person": "bob", "before": "member", "after": "admin"}),
                ("alice", "remove", {"person": "bob", "role": "admin"}),
                ("root", "add", {"person": "bob", "role": "viewer"}),
                ("root", "change", {"monthly_cap": [None, "9.50"]}),
            ],
        )

    def test_a_deleted_project_leaves_the_end_of_its_trail(self) -> None:
        self.switch_on(self.apollo)
        head = AuditLog.objects.get(bank=self.apollo.bank)
        self.client.post(reverse("admin:projects_project_delete", args=[self.apollo.pk]), {"post": "yes"})
        self.assertEqual(self.trail(), [("alice", "delete", {"project": "apollo", "events": 1, "seal": head.seal})])

    def test_a_new_tenant_s_trail_begins_with_it(self) -> None:
        run("create_tenant", "initech", "--owner", "bob")
        tenant = Tenant.objects.get(slug="initech")
        self.assertEqual(self.trail(tenant), [("command line", "create", {"slug": "initech", "owner": "bob"})])
        tenant.delete()
        if connection.vendor == "postgresql":
            connection.cursor().execute("SET CONSTRAINTS ALL IMMEDIATE")

    def test_the_command_finds_what_was_changed_and_prints_where_each_trail_ends(self) -> None:
        self.switch_on(self.apollo)
        self.post("remove-member", person="vera")
        whole = run("check_memory", "--json").json
        self.assertEqual((whole["ok"], set(whole["trails"])), (True, {"acme/apollo", "acme/"}))
        around("UPDATE projects_tenantevent SET actor = 'nobody'")
        around("UPDATE memorybank_event SET actor = 'nobody'")
        broken = run("check_memory", "acme/apollo")
        self.assertEqual(broken.code, 1)
        for line in ("trail acme/, number 1: was changed", "trail acme/apollo, number 1: was changed"):
            self.assertIn(line, broken.out)

    def test_postgresql_refuses_whoever_asks_it_directly(self) -> None:
        if connection.vendor != "postgresql":
            self.skipTest("SQLite has no such triggers; there the check finds it")
        self.post("remove-member", person="vera")
        for statement in (
            "UPDATE projects_tenantevent SET actor = 'nobody'",
            "DELETE FROM projects_tenantevent; SET CONSTRAINTS ALL IMMEDIATE",
        ):
            with self.assertRaisesMessage(DatabaseError, "audit log"), transaction.atomic():
                connection.cursor().execute(statement)

    def test_the_admin_shows_it_in_words(self) -> None:
        self.client.force_login(self.alice)
        self.post("change-role", person="bob", role="admin")
        page = self.client.get(self.list_url(TenantEvent)).content.decode()
        self.assertIn("changed bob from Member to Admin", page)

    def test_the_desk_says_it_in_words_with_links(self) -> None:
        self.post("change-role", person="bob", role="admin")
        self.post("open-project", project="apollo", open="named", person=["vera"])
        key, _secret = api_keys.issue(self.apollo, "CI", ["read"], actor="alice", now=NOON)
        api_keys.revoke(key, actor="alice", now=NOON)
        for action in set(TenantEvent.Action.values) - {"role", "open", "issue", "revoke"}:
            audit.log(self.acme, "alice", audit.TenantAction(action), NOON)  # of an older release, without detail
        page = " ".join(self.client.get(reverse("tenant-activity", args=["acme"])).content.decode().split())
        for words in (
            "changed bob from Member to Admin",
            "opened apollo to owners and admins, vera",
            "issued the key “CI” of apollo for read",
            "revoked the key “CI” of apollo",
        ):
            self.assertIn(f"<b>alice</b> {words}", page)
        self.assertIn(reverse("project-keys", args=["acme", "apollo"]), page)
        self.assertIn("revoked the key “CI” of apollo", self.client.get(self.list_url(TenantEvent)).content.decode())
        self.client.force_login(self.charlie)
        self.assertEqual(self.client.get(reverse("tenant-activity", args=["acme"])).status_code, 404)

    def test_the_admin_says_what_was_done_to_memory_in_words_with_links(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The launch is on 17 May 2026 in Grimsvale.")
        fact = Fact.objects.latest("pk")
        services.pin(self.apollo.bank, fact_ids=[fact.pk], actor="alice")
        services.erase(self.apollo.bank, author="bob", actor="alice")
        page = self.client.get(self.list_url(Event)).content.decode()
        self.assertIn(
            f'pinned a line · <a href="{reverse("admin:memorybank_fact_change", args=[fact.pk])}">line 1</a>', page
        )
        receipt = reverse("admin:memorybank_erasure_change", args=[Erasure.objects.get().pk])
        self.assertIn(f'erased what somebody had said · <a href="{receipt}">receipt</a>', page)

    def test_nobody_changes_it_in_the_admin_and_no_stranger_sees_it(self) -> None:
        self.post("remove-member", person="vera")
        event = TenantEvent.objects.get()
        with self.assertRaises(AppendOnly):
            event.delete()
        own = f"{self.list_url(TenantEvent)}?tenant={self.acme.slug}"
        desk = reverse("tenant-activity", args=["acme"])
        self.assertContains(self.client.get(reverse("people", args=["acme"])), f'href="{desk}"')
        self.assertContains(self.client.get(own), "vera")
        self.assertEqual(self.client.post(self.change_url(event), {"actor": "nobody"}).status_code, 403)
        self.client.force_login(self.charlie)
        self.assertNotContains(self.client.get(self.list_url(TenantEvent)), "vera")
        self.assertEqual(self.client.get(self.change_url(event)).status_code, 302)
