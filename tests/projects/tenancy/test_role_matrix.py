"""Role × page × action: what `access` says of every address, and nothing else; a page that it does not name fails."""

from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern

from memorybank.models import Chat
from projects.models import APIKey, Role
from projects.tenancy import permissions
from tests.support.requirements import some

from .test_strangers import Everything, of_programs, pages, pages_of, patterns, registered

NO_KEY, REFUSED, NOWHERE, NO_SUCH_DEED = 401, 403, 404, 405
#: What she may ask, whatever becomes of it: done, wrongly asked, about nothing; and the one that says what is missing.
OPENED = (200, 302, 400, NOWHERE, 409, 503)
#: Of one's own row; Django sends to the home of the admin whoever may not see one.
LOOKED_AT, SENT_HOME = 200, 302


@pytest.mark.any_database
class MatrixTest(Everything):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.roles = {cls.alice: Role.OWNER, cls.adam: Role.ADMIN, cls.bob: Role.MEMBER, cls.vera: Role.VIEWER}
        # A viewer has a chat from the time when she was a member.
        cls.chats: dict[User, Chat] = {user: cls.begin_chat(user, cls.apollo) for user in cls.roles}

    def status(self, user: User | None, pattern: URLPattern, method: str) -> int:
        self.client.force_login(user) if user else self.client.logout()
        return self.ask(self.address(pattern, self.chats.get(user) if user else None), method).status_code

    def test_it_names_every_page(self) -> None:
        named = {str(pattern.name) for pattern in (*patterns(), *of_programs())}
        known = (
            permissions.PUBLIC_URLS,
            permissions.URL_SCOPES,
            permissions.OPERATOR_METHODS,
            permissions.URL_PERMISSIONS,
        )
        self.assertEqual(sorted(named), sorted(name for names in known for name in names))

    def test_what_a_key_opens_opens_to_nobody_without_one_whoever_she_is(self) -> None:
        of_keys = [pattern for pattern in patterns() if pattern.name in permissions.URL_SCOPES]
        users = (None, self.charlie, self.root, *self.roles)
        for pattern, user, method in some(product(of_keys, users, ("get", "post")), one_in=3):
            with self.subTest(page=pattern.name, method=method, user=user and user.username):
                self.assertIn(self.status(user, pattern, method), (NO_KEY, NO_SUCH_DEED))

    def test_members_open_what_their_role_covers_and_are_refused_the_rest(self) -> None:
        for pattern, method, (user, role) in some(product(pages(), ("get", "post"), self.roles.items()), one_in=3):
            with self.subTest(page=pattern.name, method=method, role=role):
                status = self.status(user, pattern, method)
                if status == NO_SUCH_DEED:
                    continue
                name = str(pattern.name)
                if name in permissions.PUBLIC_URLS or role.covers(permissions.URL_PERMISSIONS[name]):
                    self.assertIn(status, OPENED)
                else:
                    self.assertEqual(status, REFUSED)

    def test_every_page_that_is_looked_at_opens_for_an_owner(self) -> None:
        for pattern in pages():
            status = self.status(self.alice, pattern, "get")
            with self.subTest(page=pattern.name):
                made_up = {"invitation": NOWHERE, "login": 302}
                made_up |= {"gateway-root": NOWHERE, "gateway-nowhere": NOWHERE}
                made_up |= {
                    "answer-source": NOWHERE,
                    "edit-turn": NOWHERE,
                    "used": NOWHERE,
                    "answer-stream": NOWHERE,
                }  # another's turn
                made_up |= {"confirm-email": NOWHERE}
                made_up |= {"memory-own": NOWHERE}  # another's words
                self.assertIn(status, (200, 302, 503, NO_SUCH_DEED, made_up.get(str(pattern.name))))

    def test_a_superuser_manages_people_and_memory_and_opens_no_project_or_chat(self) -> None:
        for pattern in pages():
            name = str(pattern.name)
            if name in permissions.PUBLIC_URLS:
                continue
            with self.subTest(page=name):
                hers = name.startswith("memory") or permissions.URL_PERMISSIONS[name] == Role.ADMIN
                expected = (200, NO_SUCH_DEED) if hers else (NOWHERE, NO_SUCH_DEED)
                self.assertIn(self.status(self.root, pattern, "get"), expected)

    def test_machines_are_answered_whoever_asks(self) -> None:
        by_name = {str(pattern.name): pattern for pattern in patterns()}
        for name in ("healthz", "readyz", "metrics"):
            seen = {self.status(user, by_name[name], "get") for user in (None, self.charlie, self.root, *self.roles)}
            self.assertEqual(len(seen), 1, name)

    def test_the_admin_opens_to_owners_admins_and_superusers_for_their_tenants_alone(self) -> None:
        dora = self.person("dora", self.acme, Role.MEMBER, is_staff=True)
        may = {self.alice: True, self.adam: True, self.root: True, dora: False, self.charlie: False}
        for model, (user, opens) in some(product(registered(), may.items()), one_in=3):
            [change] = [item for item in pages_of(model) if str(item.name).endswith("_change")]
            with self.subTest(model=model._meta.label, user=user.username):
                self.client.force_login(user)
                status = self.ask(self.admin_address(change, model), "get").status_code
                self.assertEqual(status, LOOKED_AT if opens else SENT_HOME)
                self.assertEqual(self.client.get(self.list_url(model)).status_code, 200)

    def test_who_is_not_staff_is_asked_to_sign_in_on_every_page_of_the_admin(self) -> None:
        for user in (None, self.bob, self.vera):
            self.client.force_login(user) if user else self.client.logout()
            for model in registered():
                for pattern in pages_of(model):
                    answer: Any = self.ask(self.admin_address(pattern, model), "get")
                    with self.subTest(page=pattern.name):
                        self.assertEqual((answer.status_code, "/login/" in answer["Location"]), (302, True))

    def test_nobody_adds_changes_or_deletes_what_the_admin_only_shows(self) -> None:
        changed = {"tenant", "membership", "project", "upstream"}
        self.client.force_login(self.root)
        for model in registered():
            if model._meta.model_name in changed:
                continue
            deeds = ("change", "delete") if model is APIKey else ("add", "change", "delete")
            for pattern in pages_of(model):
                if str(pattern.name).rpartition("_")[2] in deeds:
                    with self.subTest(page=pattern.name):
                        status = self.client.post(self.admin_address(pattern, model), {"post": "yes"}).status_code
                        self.assertEqual(status, REFUSED)
