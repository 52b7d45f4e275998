"""Every address of the site, asked by everybody: whoever adds a page need not think of strangers, this does."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from memorybank import services
from memorybank.models import Entry, Fact, Output
from projects.models import Invitation, Membership, Role
from tests.base import NOON, without_models

from .test_admin import AdminCase

#: What of Acme no stranger may read, wherever it stands.
NAMES = ("acme", "Acme", "apollo", "Apollo", "bob", "Lisbon", "erin@example.com")
#: Pages for everybody: signing in and out, the icon, machines that watch, links by mail.
OPEN = {"login", "logout", "favicon", "home", "healthz", "readyz", "metrics", "invitation"}
#: Who may ask for a page (GET) or its deed (POST) at all, by the least role; the rest is asked of the least of all.
LEAST = {
    "people": Role.ADMIN, "invite": Role.ADMIN, "withdraw": Role.ADMIN, "change-role": Role.ADMIN,
    "remove-member": Role.ADMIN, "open-project": Role.ADMIN,
    "chat": Role.MEMBER, "new-chat": Role.MEMBER, "messages": Role.MEMBER, "private": Role.MEMBER,
    "retry": Role.MEMBER, "retry-message": Role.MEMBER,
}  # fmt: skip


def patterns(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    """All addresses but the admin's, which are found through its models."""
    for each in (resolver or get_resolver()).url_patterns:
        if isinstance(each, URLPattern):
            yield each
        elif each.namespace != "admin":
            yield from patterns(each)


@without_models
class WalkTest(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", "The launch is on 17 May 2026 in Lisbon.")
        self.chat = self.begin_chat(self.bob, self.apollo)
        said = {"chat_key": self.chat.key, "author": "bob", "question": "Lisbon?"}
        self.turn = services.record(self.apollo.bank, **said, status=Output.Status.ERROR, now=NOON)
        Invitation.objects.create(
            tenant=self.acme, email="erin@example.com", role="member", invited_by=self.alice, sent_at=NOON
        )
        self.adam = self.person("adam", self.acme, Role.ADMIN)

    def address(self, pattern: URLPattern) -> str:
        """Of what is really there; a page with something new in its address says here what."""
        values = {
            "tenant": "acme",
            "project": "apollo",
            "key": self.chat.key,
            "turn": self.turn.pk,
            "token": "x:y:z",
            "receipt": 1,
        }
        values |= {"fact": Fact.objects.values_list("pk", flat=True)[0], "entry": Entry.objects.values_list("pk")[0][0]}
        return reverse(str(pattern.name), kwargs={name: values[name] for name in pattern.pattern.converters})

    def ask(self, pattern: URLPattern, method: str) -> HttpResponseBase:
        answer: Any = getattr(self.client, method)(self.address(pattern))
        return answer  # type: ignore[no-any-return]

    def test_a_stranger_finds_nothing_anywhere(self) -> None:
        for user in (self.charlie, None):
            for pattern in patterns():
                for method in ("get", "post"):
                    with self.subTest(page=pattern.name, method=method, user=user and user.username):
                        self.client.force_login(user) if user else self.client.logout()  # one of the pages signs out
                        answer: Any = self.ask(pattern, method)
                        if pattern.name not in OPEN:
                            self.assertIn(answer.status_code, (404, 405) if user else (302, 404, 405))
                        for name in NAMES if answer.status_code == 200 else ():
                            self.assertNotIn(name, answer.content.decode())

    def test_a_colleague_is_refused_what_her_role_does_not_cover(self) -> None:
        people = {Role.VIEWER: self.vera, Role.MEMBER: self.bob, Role.ADMIN: self.adam}
        named = {pattern.name: pattern for pattern in patterns()}
        for name, least in LEAST.items():
            for role, user in people.items():
                self.client.force_login(user)
                for method in ("get", "post"):
                    with self.subTest(page=name, method=method, role=role):
                        status = self.ask(named[name], method).status_code
                        expected = (200, 302, 400, 404, 405) if role.covers(least) else (403, 405)
                        self.assertIn(status, expected)
                self.acme.memberships.update_or_create(user=user, defaults={"role": role})

    def test_lists_of_the_admin_show_a_stranger_nothing(self) -> None:
        self.client.force_login(self.charlie)
        for model in admin.site._registry:
            if model._meta.app_label in ("projects", "memorybank"):
                for query in ("", "?q=a", "?o=1"):
                    shown = self.client.get(self.list_url(model) + query).content.decode()
                    self.assertEqual([name for name in NAMES if name in shown], [], model)

    def test_pages_of_the_admin_show_a_stranger_nothing(self) -> None:
        self.client.force_login(self.charlie)
        ours: list[Any] = [self.acme, self.apollo, self.apollo.bank, self.chat, Membership.objects.get(user=self.bob)]
        for obj in (*ours, Fact.objects.all()[0], Entry.objects.all()[0]):
            for deed in ("change", "history", "delete"):
                page = f"admin:{obj._meta.app_label}_{obj._meta.model_name}_{deed}"
                for ask in (self.client.get, self.client.post):
                    self.assertNotEqual(ask(reverse(page, args=[obj.pk])).status_code, 200, page)

    def test_a_superuser_opens_no_chat(self) -> None:
        self.client.force_login(User.objects.get(username="root"))
        self.assertEqual(self.client.get(self.chat_url(self.chat)).status_code, 404)
