"""Provisioning: the operator's key makes tenants, projects, members and keys, and no other key does."""

from typing import Any

from django.contrib.auth.models import User
from django.test import override_settings

from memorybank.models import Bank
from projects.models import APIKey, Membership, NameSource, Project, Scope, Tenant, TenantEvent
from projects.tenancy import permissions
from tests.support.api_client import ProgramCase

OPERATOR_KEY = "operator-key-of-thirty-two-characters"
ADDRESSES = {
    "operator-tenants": "tenants",
    "operator-tenant": "tenants/acme",
    "operator-projects": "tenants/acme/projects",
    "operator-project": "tenants/acme/projects/apollo",
    "operator-members": "tenants/acme/members",
    "operator-member": "tenants/acme/members/bob",
    "operator-keys": "tenants/acme/projects/apollo/keys",
    "operator-key": "tenants/acme/projects/apollo/keys/aaaaaaaaaaaaa",
}


@override_settings(OPERATOR_API_KEY=OPERATOR_KEY)
class ProvisioningTest(ProgramCase):
    def do(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        answer = self.call(method, path, body, key=OPERATOR_KEY)
        self.assertEqual(answer.status_code, status, answer.content)
        return answer.json() if answer.content else None

    def test_a_customer_is_set_up_from_nothing_to_a_recorded_turn(self) -> None:
        self.do("POST", "tenants", {"slug": "initech", "name": "Initech"}, status=201)
        self.do("PUT", "tenants/initech/members/peter", {"role": "owner", "email": "peter@example.com"})
        self.do("POST", "tenants/initech/projects", {"slug": "tps"}, status=201)
        body = {"name": "bot", "scopes": ["write", "admin"], "expires_in_days": 30}
        key = self.do("POST", "tenants/initech/projects/tps/keys", body, status=201)
        self.ask("PATCH", "settings", {"enabled": True, "disclosure_accepted": True}, key=key["key"])
        self.ask("POST", "outputs", self.output(), key=key["key"], status=201)
        peter = User.objects.get(username="peter")
        self.assertEqual((peter.has_usable_password(), peter.is_staff), (False, True))
        self.assertEqual(self.do("GET", "tenants/initech/members")["items"], [{"username": "peter", "role": "owner"}])
        listed = self.do("GET", "tenants/initech/projects/tps/keys")["items"][0]
        self.assertEqual((listed["prefix"], "key" in listed), (key["key"][:12], False))
        self.do("DELETE", f"tenants/initech/projects/tps/keys/{key['id']}", status=204)
        self.assertEqual(self.call("GET", "usage", key=key["key"]).status_code, 401)
        actions = TenantEvent.objects.filter(tenant__slug="initech", actor="operator").order_by("pk")
        self.assertEqual([event.action for event in actions], ["create", "add", "issue", "revoke"])

    def test_a_key_is_told_which_names_to_trust(self) -> None:
        address, body = "tenants/acme/projects/apollo/keys", {"name": "front end", "scopes": ["write"]}
        default = self.do("POST", address, body, status=201)
        self.assertEqual(default["name_sources"], ["memory", "front_end", "body"])
        self.do("POST", address, {**body, "name": "shared", "name_sources": ["front_end"]}, status=201)
        self.do("POST", address, {**body, "name": "alone", "name_sources": []}, status=201)
        listed = {key["name"]: key["name_sources"] for key in self.do("GET", address)["items"]}
        self.assertEqual((listed["shared"], listed["alone"]), (["front_end"], []))
        shared = APIKey.objects.get(name="shared")
        self.assertEqual((shared.trusts(NameSource.FRONT_END), shared.trusts(NameSource.BODY)), (True, False))
        refused = self.do("POST", address, {**body, "name_sources": ["cookie"]}, status=422)
        self.assertEqual(refused["errors"][0]["pointer"], "/name_sources/0")

    def test_a_role_is_changed_and_a_member_removed(self) -> None:
        self.do("PUT", "tenants/acme/members/bob", {"role": "viewer"})
        self.assertEqual(Membership.objects.get(user=self.bob, tenant=self.acme).role, "viewer")
        self.do("DELETE", "tenants/acme/members/bob", status=204)
        self.assertFalse(Membership.objects.filter(user=self.bob, tenant=self.acme).exists())
        self.assertTrue(User.objects.filter(username="bob").exists())
        self.do("DELETE", "tenants/acme/members/bob", status=404)

    def test_a_project_and_a_tenant_go_with_all_memory(self) -> None:
        bank = self.apollo.bank_id
        self.do("DELETE", "tenants/acme/projects/apollo", status=204)
        self.assertFalse(Bank.objects.filter(pk=bank).exists() or Project.objects.filter(slug="apollo").exists())
        self.do("DELETE", "tenants/globex", status=204)
        self.assertFalse(Tenant.objects.filter(slug="globex").exists())

    def test_what_is_wrong_is_named(self) -> None:
        for body in ({"slug": "Acme Inc"}, {"slug": "acme"}, {"slug": "x", "plan": "gold"}, {}):
            with self.subTest(body=body):
                refused = self.do("POST", "tenants", body, status=422)
                self.assertIn(refused["errors"][0]["pointer"], ("/slug", ""))
        self.do("POST", "tenants", {"slug": "x", "owner": "nobody"}, status=404)
        self.do("PUT", "tenants/acme/members/no%20name", {"role": "member"}, status=422)
        self.do("GET", "tenants?page=2", status=422)
        self.do("GET", "tenants/initech/projects", status=404)

    def test_no_other_key_opens_them_and_it_opens_no_project(self) -> None:
        for key in (self.issue(self.apollo, Scope.values), "", "mb_x", OPERATOR_KEY[:-1]):
            for name, methods in permissions.OPERATOR_METHODS.items():
                for method in methods:
                    with self.subTest(address=name, method=method):
                        answer = self.call(method, ADDRESSES[name], None if method == "GET" else {}, key=key)
                        self.assertEqual(answer.status_code, 401)
        self.assertEqual(self.call("GET", "usage", key=OPERATOR_KEY).status_code, 401)
        self.assertEqual(APIKey.objects.filter(project=self.apollo).count(), 2)

    def test_without_a_key_in_the_settings_they_are_closed(self) -> None:
        with override_settings(OPERATOR_API_KEY=""):
            for key in ("", OPERATOR_KEY):
                self.assertEqual(self.call("GET", "tenants", key=key).status_code, 401)
