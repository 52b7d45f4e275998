"""One page to sign in on; and what people do with their own account."""

import re
import time
from typing import Any

from django.contrib.auth.models import User
from django.core import mail
from django.test import Client, override_settings
from django.urls import reverse

from memorybank.models import Chat, Output
from projects.models import Membership, Role, TenantEvent, Webhook
from projects.models.attempts import MAX_MAILS_PER_DAY
from projects.webhooks.mail import recipient
from tests.support.cast import Cast, without_models
from tests.support.commands import PROCESS_TIMEOUT_SECONDS

OLD_PASSWORD, NEW_PASSWORD = "a pass phrase", "another pass phrase"


@without_models
class AccountTest(Cast):
    def setUp(self) -> None:
        super().setUp()
        for user in (self.alice, self.bob):
            user.email = f"{user.username}@example.com"
            user.set_password(OLD_PASSWORD)
            user.save()
        self.browser = self.signed_in(self.bob)

    def signed_in(self, user: User) -> Client:
        browser = Client()
        browser.post(reverse("login"), {"username": user.username, "password": OLD_PASSWORD})
        return browser

    def test_guesses_at_a_password_by_somebody_signed_in_are_counted_like_logins(self) -> None:
        wrong = {
            "password": "a guess",
            "old_password": "a guess",
            "new_password1": NEW_PASSWORD,
            "new_password2": NEW_PASSWORD,
        }
        for number in range(5):
            url, form = (
                (reverse("delete-account"), wrong) if number % 2 else (reverse("account"), wrong | {"what": "password"})
            )
            self.assertContains(self.browser.post(url, form), "This is not your password.", status_code=400)
        right = self.browser.post(reverse("delete-account"), {"password": OLD_PASSWORD})
        self.assertContains(right, "Too many failed logins.", status_code=400)
        assert User.objects.filter(username="bob").exists()

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
        wrong = {"what": "password", "old_password": "?", "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        self.assertEqual(self.browser.post(reverse("account"), wrong).status_code, 400)
        self.browser.post(reverse("account"), {**wrong, "old_password": OLD_PASSWORD})
        self.assertEqual((self.is_open(self.browser), self.is_open(other)), (True, False))
        self.assertTrue(User.objects.get(pk=self.bob.pk).check_password(NEW_PASSWORD))

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
        chosen = {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
        answer = browser.post(page.request["PATH_INFO"], chosen, follow=True)
        self.assertContains(answer, "Your password is changed")
        self.assertFalse(self.is_open(self.browser))
        self.assertContains(Client().get(link[1], follow=True), "has been used or is too old")

    def test_it_does_not_tell_which_addresses_there_are_and_mails_nobody_all_day(self) -> None:
        known, unknown = (self.ask_for_link(name) for name in ("bob@example.com", "nobody@example.com"))
        self.assertEqual(known, unknown)
        for _ in range(MAX_MAILS_PER_DAY + 2):
            self.ask_for_link("bob@example.com")
        self.assertEqual(len(self.mails(MAX_MAILS_PER_DAY)), MAX_MAILS_PER_DAY)

    def ask_for_link(self, email: str) -> str:
        answer = Client().post(reverse("forgotten"), {"email": email}, follow=True)
        return re.sub(r'value="\w{64}"', "", answer.content.decode())

    def mails(self, count: int) -> list[Any]:
        """What was sent, once so many mails have left their thread."""
        deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
        while len(mail.outbox) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return mail.outbox

    def test_it_confirms_a_new_address_by_mail_and_only_for_the_account_that_asked(self) -> None:
        sent = {"what": "email", "address-email": "bob@new.example", "address-password": OLD_PASSWORD}
        self.assertEqual(self.browser.post(reverse("account"), {**sent, "address-password": "?"}).status_code, 400)
        self.browser.post(reverse("account"), sent)
        [letter] = mail.outbox
        self.assertEqual(letter.to, ["bob@new.example"])
        link = re.search(r"http://testserver(\S+)", str(letter.body))
        assert link
        self.assertContains(self.browser.get(link[1]), "bob@new.example becomes the address")
        self.assertEqual(self.email(), "bob@example.com")  # a GET changes nothing
        self.assertEqual(self.signed_in(self.alice).post(link[1]).status_code, 404)
        self.browser.post(link[1])
        self.assertEqual(self.email(), "bob@new.example")
        self.assertEqual(self.browser.post(link[1]).status_code, 404)

    @override_settings(EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend")
    def test_without_a_mail_server_the_address_changes_at_once_and_notices_follow_it(self) -> None:
        owner, page = self.signed_in(self.alice), reverse("project-notices", args=["acme", "apollo"])
        owner.post(page, {"events": ["line.held_back"]})
        sent = {"what": "email", "address-email": "alice@new.example", "address-password": OLD_PASSWORD}
        owner.post(reverse("account"), sent)
        self.assertEqual([recipient(hook) for hook in Webhook.objects.all()], ["alice@new.example"])
        self.assertContains(owner.get(page), "Mails go to alice@new.example")
        owner.post(reverse("account"), {**sent, "address-email": ""})
        self.assertFalse(Webhook.objects.exists())

    def email(self) -> str:
        return User.objects.get(pk=self.bob.pk).email

    def test_a_link_for_a_password_is_in_the_language_of_the_page(self) -> None:
        Client(headers={"Accept-Language": "de"}).post(reverse("forgotten"), {"email": "bob@example.com"})
        self.assertIn("Passwort", str(self.mails(1)[0].subject))

    def test_an_account_goes_with_its_chats_or_without(self) -> None:
        for chats, left in (("keep", 1), ("erase", 0)):
            user = self.person(f"eve-{chats}", self.acme, Role.MEMBER)
            user.set_password(OLD_PASSWORD)
            user.save()
            chat = self.begin_chat(user, self.apollo)
            Output.objects.create(
                chat=chat, author=user.username, question="Hello", sequence=1, created_at="2026-03-02T12:00Z"
            )
            browser = self.signed_in(user)
            sent = {"password": OLD_PASSWORD, "chats": chats}
            self.assertContains(
                browser.post(reverse("delete-account"), {**sent, "password": "?"}), "not your password", status_code=400
            )
            answer = browser.post(reverse("delete-account"), sent, follow=True)
            self.assertContains(answer, "Your account is deleted")
            self.assertFalse(User.objects.filter(pk=user.pk).exists())
            self.assertEqual(Chat.objects.filter(pk=chat.pk).count(), left)
            self.assertTrue(TenantEvent.objects.filter(action="remove", actor=user.username).exists())

    def test_the_last_owner_stays(self) -> None:
        answer = self.signed_in(self.alice).post(reverse("delete-account"), {"password": OLD_PASSWORD})
        self.assertContains(answer, "last owner of Acme", status_code=400)
        self.assertTrue(Membership.objects.filter(user=self.alice).exists())
