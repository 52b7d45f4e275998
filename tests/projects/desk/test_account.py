"""One page to sign in on; and what people do with their own account."""

import re
import time
from typing import Any

from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse

from memorybank.models import Chat, Output
from projects.models import Membership, Role, TenantEvent
from projects.tenancy.members import MAX_RECEIVED_PER_DAY
from tests.support.cast import Cast, without_models
from tests.support.commands import PATIENCE

OLD, NEW = "a pass phrase", "another pass phrase"


@without_models
class AccountTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        for user in (self.alice, self.bob):
            user.email = f"{user.username}@example.com"
            user.set_password(OLD)
            user.save()
        self.browser = self.signed_in(self.bob)

    def signed_in(self, user: User) -> Client:
        browser = Client()
        browser.post(reverse("login"), {"username": user.username, "password": OLD})
        return browser

    def is_open(self, browser: Client) -> bool:
        return browser.get("/").status_code == 200

    def test_the_admin_asks_on_the_same_page_and_says_who_may_not_enter(self) -> None:
        asked = Client().get("/admin/", follow=True)
        self.assertEqual(asked.request["PATH_INFO"], reverse("login"))
        self.assertEqual(self.signed_in(self.alice).get("/login/?next=/admin/")["Location"], "/admin/")
        self.assertContains(self.browser.get("/admin/", follow=True), "no access to that page")

    def test_a_display_name_is_shown_to_colleagues(self) -> None:
        self.browser.post(reverse("account"), {"what": "name", "first_name": "Bob the Builder"})
        self.assertContains(self.signed_in(self.alice).get(reverse("people", args=["acme"])), "bob (Bob the Builder)")

    def test_a_changed_password_signs_out_everywhere_else(self) -> None:
        other = self.signed_in(self.bob)
        wrong = {"what": "password", "old_password": "?", "new_password1": NEW, "new_password2": NEW}
        self.assertEqual(self.browser.post(reverse("account"), wrong).status_code, 400)
        self.browser.post(reverse("account"), {**wrong, "old_password": OLD})
        self.assertEqual((self.is_open(self.browser), self.is_open(other)), (True, False))
        self.assertTrue(User.objects.get(pk=self.bob.pk).check_password(NEW))

    def test_one_button_ends_the_other_sessions_and_nobody_else_s(self) -> None:
        other, alice = self.signed_in(self.bob), self.signed_in(self.alice)
        self.assertContains(self.browser.get(reverse("account")), "in 1 other browser")
        self.browser.post(reverse("end-sessions"))
        self.assertEqual([self.is_open(browser) for browser in (self.browser, other, alice)], [True, False, True])

    def test_a_forgotten_password_is_chosen_anew_by_a_link_that_works_once(self) -> None:
        self.ask_for_link("bob@example.com")
        link = re.search(r"http://testserver(\S+)", str(self.mails(1)[0].body))
        assert link
        browser = Client()
        page = browser.get(link[1], follow=True)
        chosen = {"new_password1": NEW, "new_password2": NEW}
        answer = browser.post(page.request["PATH_INFO"], chosen, follow=True)
        self.assertContains(answer, "Your password is changed")
        self.assertFalse(self.is_open(self.browser))
        self.assertContains(Client().get(link[1], follow=True), "has been used or is too old")

    def test_it_does_not_tell_which_addresses_there_are_and_mails_nobody_all_day(self) -> None:
        known, unknown = (self.ask_for_link(name) for name in ("bob@example.com", "nobody@example.com"))
        self.assertEqual(known, unknown)
        for _ in range(MAX_RECEIVED_PER_DAY + 2):
            self.ask_for_link("bob@example.com")
        self.assertEqual(len(self.mails(MAX_RECEIVED_PER_DAY)), MAX_RECEIVED_PER_DAY)

    def ask_for_link(self, email: str) -> str:
        answer = Client().post(reverse("forgotten"), {"email": email}, follow=True)
        return re.sub(r'value="\w{64}"', "", answer.content.decode())

    def mails(self, count: int) -> list[Any]:
        """What was sent, once so many mails have left their thread."""
        deadline = time.monotonic() + PATIENCE
        while len(mail.outbox) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return mail.outbox

    def test_an_account_goes_with_its_chats_or_without(self) -> None:
        for chats, left in (("keep", 1), ("erase", 0)):
            user = self.person(f"eve-{chats}", self.acme, Role.MEMBER)
            user.set_password(OLD)
            user.save()
            chat = self.begin_chat(user, self.apollo)
            Output.objects.create(
                chat=chat, author=user.username, question="Hello", sequence=1, created_at="2026-03-02T12:00Z"
            )
            browser = self.signed_in(user)
            sent = {"password": OLD, "chats": chats}
            self.assertContains(
                browser.post(reverse("delete-account"), {**sent, "password": "?"}), "not your password", status_code=400
            )
            answer = browser.post(reverse("delete-account"), sent, follow=True)
            self.assertContains(answer, "Your account is deleted")
            self.assertFalse(User.objects.filter(pk=user.pk).exists())
            self.assertEqual(Chat.objects.filter(pk=chat.pk).count(), left)
            self.assertTrue(TenantEvent.objects.filter(action="remove", actor=user.username).exists())

    def test_the_last_owner_stays(self) -> None:
        answer = self.signed_in(self.alice).post(reverse("delete-account"), {"password": OLD})
        self.assertContains(answer, "last owner of Acme", status_code=400)
        self.assertTrue(Membership.objects.filter(user=self.alice).exists())
