"""Every address and method of the API: the required scope, and no access to other projects."""

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.urls import URLPattern
from django.urls.resolvers import RoutePattern

from memorybank import services
from memorybank.models import Chat, Entry, Erasure, Event, Fact, Job, Output
from memorybank.services import PublicId
from projects.models import Scope
from projects.tenancy import permissions
from projects.webhooks import registry
from tests.projects.tenancy.test_strangers import NAMES, of_programs
from tests.support.api_client import ProgramCase
from tests.support.cast import NOON

NUMBER = PublicId()
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
ADDRESSES = {str(each.name): each for each in of_programs() if each.name in permissions.URL_SCOPES}
#: A valid body for each; none of them affects another test case.
BODIES: dict[str, Any] = {
    "api-outputs": {"chat": "c-1", "author": "ann", "question": "?"},
    "api-batch": {"outputs": [{"chat": "c-1", "author": "ann", "question": "?"}]},
    "api-memory": {"question": "Grimsvale?"},
    "api-recall": {"question": "Grimsvale?"},
    "api-facts": {"text": "Written by hand."},
    "api-ratings": {"author": "ann", "helpful": True},
    "api-webhooks": {"url": "https://example.com/"},
    "api-forget": {"chat": "told", "dry_run": True},
}


def deeds() -> Iterator[tuple[str, str, Scope]]:
    """Every address of the API with each of its methods."""
    for name in ADDRESSES:
        for method, scope in permissions.URL_SCOPES[name].items():
            yield name, method, scope


class APIWalkTest(ProgramCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "The launch is on 17 May 2026 in Grimsvale.")
        bank = cls.apollo.bank
        erased = {"asked_by": "bob", "epoch": 1, "at": NOON, "counts": {"turns": 1}}
        receipt = Erasure.objects.create(bank=bank, kind="chat", subject="x", **erased)
        job = services.request_job(bank, Job.Kind.COMPRESS, actor="bob", now=NOON)
        rows = {"fact": Fact.objects.latest("pk"), "entry": Entry.objects.latest("pk"), "job": job, "receipt": receipt}
        hook = registry.add(cls.apollo, url="https://example.com/", events=(), actor="alice", now=NOON)
        rows["webhook"] = hook
        rows["output"] = Output.objects.get()
        cls.values = {"chat": "told", **{name: NUMBER.to_url(row.pk) for name, row in rows.items()}}

    def address(self, pattern: URLPattern) -> str:
        """Path values of existing rows in Acme."""
        assert isinstance(pattern.pattern, RoutePattern)
        route = pattern.pattern._route
        for name in pattern.pattern.converters:
            route = route.replace(f"<{name}>", self.values[name])
        return f"/api/v1/{route}"

    def answer(self, name: str, method: str, key: str, body: Any = None) -> Any:
        given = BODIES.get(name, {}) if body is None else body
        with transaction.atomic():
            answer = self.call(method, self.address(ADDRESSES[name]), None if method == "GET" else given, key=key)
            transaction.set_rollback(method == "DELETE")  # what is deleted is there for the next request
        return answer

    def test_an_address_has_the_methods_that_access_names_and_no_other(self) -> None:
        for name, pattern in ADDRESSES.items():
            allowed = set(permissions.URL_SCOPES[name])
            for method in METHODS:
                answer = self.call(method, self.address(pattern), None if method in ("GET", "HEAD") else {})
                with self.subTest(address=name, method=method):
                    self.assertEqual(answer.status_code == 405, method not in allowed)
                    if method not in allowed:
                        self.assertEqual(set(answer["Allow"].split(", ")), allowed)

    def test_a_key_opens_what_its_scopes_name_and_nothing_else(self) -> None:
        own = {scope: self.issue(self.apollo, [scope], name=scope.value) for scope in Scope}
        for name, method, needed in deeds():
            for scope, key in own.items():
                with self.subTest(address=name, method=method, scope=scope):
                    status = self.answer(name, method, key).status_code
                    if scope == needed:
                        self.assertIn(status, (200, 201, 202, 204, 409, 422))
                    else:
                        self.assertEqual(status, 403)

    def test_without_a_key_nothing_opens_whoever_is_signed_in(self) -> None:
        for user in (self.alice, self.root, None):
            self.client.force_login(user) if user else self.client.logout()
            for name, method, _ in deeds():
                with self.subTest(address=name, method=method, user=user and user.username):
                    answer = self.client.generic(method, self.address(ADDRESSES[name]))
                    self.assertEqual((answer.status_code, answer["WWW-Authenticate"]), (401, "Bearer"))

    def test_the_key_of_another_tenant_finds_nothing_anywhere_and_changes_nothing(self) -> None:
        before = self.everything_of_acme()
        for name, method, _ in deeds():
            with self.subTest(address=name, method=method):
                answer = self.answer(name, method, self.other_key)
                if ADDRESSES[name].pattern.converters:
                    self.assertEqual(answer.status_code, 404)
                page = answer.getvalue().decode()
                self.assertEqual([item for item in NAMES if item in page], [])
        self.assertEqual(self.everything_of_acme(), before)

    def test_numbers_of_another_tenants_rows_are_no_rows_in_bodies_and_queries_either(self) -> None:
        fact, output = self.values["fact"], NUMBER.to_url(Output.objects.get().pk)
        for body in ({"facts": [fact]}, {"output": output}, {"chat": "told"}, {"author": "bob"}):
            for dry_run in (True, False):
                answer = self.answer("api-forget", "POST", self.other_key, {**body, "dry_run": dry_run})
                self.assertEqual(answer.status_code, 422, body)
        for query in (f"facts?entry={self.values['entry']}", f"chats?cursor={output}", "facts?about=Grimsvale"):
            self.assertEqual(self.call("GET", query, key=self.other_key).json()["items"], [])
        self.assertEqual(self.answer("api-summarise", "POST", self.other_key, {"chat": "told"}).status_code, 404)

    def everything_of_acme(self) -> Any:
        bank = self.apollo.bank
        rows = (Chat.objects.filter(bank=bank), Output.objects.filter(chat__bank=bank), bank.facts.all())
        return [list(item.values()) for item in (*rows, bank.jobs.all(), Event.objects.filter(bank=bank))]
