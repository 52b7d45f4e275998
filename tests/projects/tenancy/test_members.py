"""People join by a link and their own yes, have a role, and see all projects or some; none learns who is elsewhere."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from projects.models import Invitation, Membership, Project, Role, Tenant
from projects.models.attempts import MAX_MAILS_PER_DAY
from projects.tenancy import audit, permissions
from projects.tenancy import members as people
from projects.tenancy.audit import TenantAction
from projects.webhooks import registry
from tests.support.cast import Cast, without_models
from tests.support.commands import run

PASSWORD = "seven blue herons"


RULE = "The two-person release rule was only a pilot and ended in April."


class AuthorityCase(Cast):
    def test_memory_tells_an_admins_word_on_rules_as_a_fact_and_a_members_as_a_report(self) -> None:
        self.switch_on(self.apollo)
        self.remember(self.apollo, "bob", RULE)
        bob = self.acme.memberships.get(user=self.bob)
        assert f"bob says “{RULE}”" in self.block()
        people.change_role(bob, Role.ADMIN, by=self.alice, now=timezone.now())
        assert f"bob: {RULE}" in self.block()
        assert f"bob: {RULE}" in services.render(self.apollo.bank, budget=0, question=RULE).recalled.text
        people.change_role(bob, Role.MEMBER, by=self.alice, now=timezone.now())
        assert f"bob says “{RULE}”" in self.block()

    def block(self) -> str:
        """The block that a prompt gets once the worker has run."""
        services.run(until_idle=True)
        return services.prompt_memory(self.apollo.bank).block.text


class PeopleCase(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def do(self, what: str, tenant: str = "acme", **form: Any) -> Any:
        return self.client.post(reverse(what, args=[tenant]), form)

    def invite(self, email: str = "erin@example.com", role: Role = Role.MEMBER) -> str:
        """The path of the link that was sent."""
        self.do("invite", email=email, role=role)
        match = re.search(r"http://testserver(/invitations/\S+)", str(mail.outbox[-1].body))
        assert match
        return match[1]

    def role_of(self, user: User) -> str | None:
        return Membership.objects.filter(user=user, tenant=self.acme).values_list("role", flat=True).first()

    def page(self) -> str:
        page = self.client.get(reverse("people", args=["acme"])).content.decode()
        return re.sub(r'value="\w{64}"|<time.*?</time>', "", page)


@without_models
class InvitationTest(PeopleCase):
    def test_a_stranger_makes_an_account_named_after_the_address_and_joins(self) -> None:
        link = self.invite("Erin@Example.com")
        self.assertEqual(mail.outbox[0].to, ["erin@example.com"])
        self.client.logout()
        self.assertContains(self.client.get(link), "<strong>alice</strong> invites erin@example.com")
        self.assertFalse(User.objects.filter(username="erin@example.com").exists())
        self.client.post(link, {"new_password1": PASSWORD, "new_password2": PASSWORD})
        erin = User.objects.get(username="erin@example.com")
        self.assertEqual((self.role_of(erin), erin.email), ("member", "erin@example.com"))
        self.assertContains(self.client.get("/"), "Apollo")
        self.assertTrue(self.client.login(username="erin@example.com", password=PASSWORD))

    def test_a_password_that_is_easily_guessed_is_refused(self) -> None:
        link = self.invite()
        self.client.logout()
        page = self.client.post(link, {"new_password1": "password", "new_password2": "password"})
        self.assertContains(page, "too common")
        self.assertFalse(User.objects.filter(username="erin@example.com").exists())

    def test_somebody_of_another_tenant_joins_by_her_own_yes(self) -> None:
        link = self.invite("charlie@globex.example")
        self.assertIsNone(self.role_of(self.charlie))
        User.objects.filter(pk=self.charlie.pk).update(email="charlie@globex.example")
        self.client.force_login(self.charlie)
        self.assertContains(self.client.get(link), "Join as charlie")
        self.assertIsNone(self.role_of(self.charlie))
        self.assertContains(self.client.post(link, follow=True), "Welcome to Acme.")
        self.assertEqual(self.role_of(self.charlie), "member")
        self.assertEqual(permissions.enter_project(self.charlie, "acme/apollo"), self.apollo)

    def test_who_has_an_account_signs_in_first(self) -> None:
        erin = User.objects.create_user("erin@example.com", password=PASSWORD)
        link = self.invite()
        self.client.logout()
        self.assertContains(self.client.get(link), f"{reverse('login')}?next={quote(link)}")
        self.client.post(link, {"new_password1": "another pass", "new_password2": "another pass"})
        self.assertIsNone(self.role_of(erin))
        self.assertTrue(User.objects.get(pk=erin.pk).check_password(PASSWORD))
        self.client.post(reverse("login"), {"username": erin.username, "password": PASSWORD, "next": link})
        self.client.post(link)
        self.assertEqual(self.role_of(erin), "member")

    def test_a_link_is_for_its_addressee_alone(self) -> None:
        User.objects.filter(pk=self.charlie.pk).update(email="charlie@globex.example")
        link = self.invite()
        for user in (User.objects.get(pk=self.charlie.pk), self.root):
            self.client.force_login(user)
            page = self.client.get(link)
            self.assertContains(page, "only an account with the address erin@example.com")
            self.assertNotContains(page, "Join as")
            self.assertEqual(self.client.post(link).status_code, 403)
            self.assertIsNone(self.role_of(user))
        self.client.force_login(User.objects.create_user("erin", email="Erin@example.com"))
        self.assertContains(self.client.post(link, follow=True), "Welcome to Acme.")

    def test_a_link_works_once(self) -> None:
        link = self.invite("charlie@globex.example")
        for user in (self.charlie, self.root):
            User.objects.filter(pk=user.pk).update(email="charlie@globex.example")
            self.client.force_login(user)
            answer = self.client.post(link)
        self.assertContains(answer, "no longer works", status_code=404)
        self.assertIsNone(self.role_of(self.root))
        self.assertFalse(Invitation.objects.exists())

    def test_a_link_is_too_old_after_a_week(self) -> None:
        link = self.invite()
        Invitation.objects.update(sent_at=timezone.now() - people.INVITATION_VALID_FOR - timedelta(seconds=1))
        self.client.force_login(self.charlie)
        self.assertEqual(self.client.post(link).status_code, 404)
        invitation = Invitation.objects.get()
        self.assertIsNone(people.invitation_for(people.token(invitation), timezone.now()))
        self.assertEqual(people.invitation_for(people.token(invitation), invitation.sent_at), invitation)

    def test_a_link_is_void_once_it_is_replaced_or_withdrawn(self) -> None:
        first, second = self.invite(), self.invite(role=Role.VIEWER)
        self.assertEqual(self.client.get(first).status_code, 404)
        self.assertEqual(self.client.get(second).status_code, 200)
        self.do("withdraw", email="erin@example.com")
        self.assertEqual(self.client.get(second).status_code, 404)
        self.page()  # says what came of it, once
        self.assertNotIn("erin@example.com", self.page())

    def test_a_forged_link_is_none(self) -> None:
        link = self.invite()
        for forged in (link[:-3] + "AAA/", "/invitations/x/", "/invitations/WzEsMV0:x:y/"):
            self.assertContains(self.client.get(forged), "no longer works", status_code=404)

    def test_whoever_is_taken_out_leaves_no_way_in_behind(self) -> None:
        self.person("otto", self.acme, Role.OWNER)
        link = self.invite(role=Role.OWNER)
        self.client.force_login(User.objects.get(username="otto"))
        self.do("change-role", person="alice", role="viewer")
        self.assertEqual(self.client.get(link).status_code, 404)

    def test_an_owner_or_admin_who_joins_may_use_the_admin(self) -> None:
        for name, role, staff in (("a@example.com", Role.ADMIN, True), ("m@example.com", Role.MEMBER, False)):
            self.client.force_login(self.alice)
            link = self.invite(name, role)
            self.client.logout()
            self.client.post(link, {"new_password1": PASSWORD, "new_password2": PASSWORD})
            self.assertEqual(User.objects.get(username=name).is_staff, staff)

    def test_who_belongs_already_keeps_the_role(self) -> None:
        User.objects.filter(pk=self.bob.pk).update(email="erin@example.com")
        link = self.invite(role=Role.VIEWER)
        self.client.force_login(self.bob)
        self.client.post(link)
        self.assertEqual(self.role_of(self.bob), "member")

    def test_the_answer_is_the_same_whoever_has_the_address(self) -> None:
        User.objects.create_user("known@example.com", email="known@example.com")
        User.objects.create_user("x", email="mail@example.com")
        pages = []
        for email in ("known@example.com", "mail@example.com", "nobody@example.com", "charlie@example.com"):
            answer = self.do("invite", email=email, role="member")
            pages.append(self.page().replace(email, "ADDRESS"))
            self.assertEqual(answer.status_code, 302)
            self.do("withdraw", email=email)
            self.page()
        self.assertEqual(len(set(pages)), 1)

    def test_an_address_that_is_none_is_refused_at_its_field(self) -> None:
        for email in ("", "erin", "a@b\nBcc: x@y.z"):
            self.assertEqual(self.do("invite", email=email, role="member").status_code, 400)
        self.assertEqual(mail.outbox, [])

    @override_settings(
        EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend", EMAIL_HOST="127.0.0.1", EMAIL_PORT=1
    )
    def test_a_mail_server_that_is_down_is_said(self) -> None:
        self.do("invite", email="erin@example.com", role="member")
        self.assertIn("The mail server did not accept it.", self.page())

    def test_a_mail_is_in_its_readers_language_where_it_is_known_and_what_the_page_says_in_the_inviters(self) -> None:
        greta = self.person("greta", self.globex, Role.OWNER, email="greta@example.com")
        registry.add_mail(self.zeus, greta, events=["cap.near"], site="", language="de", now=timezone.now())
        for email, language, words in (
            ("greta@example.com", "en", "Einladung"),
            ("erin@example.com", "en", "invitation"),
            ("paul@example.com", "de", "Einladung"),
        ):
            invite, headers = reverse("invite", args=["acme"]), {"Accept-Language": language}
            page = self.client.post(invite, {"email": email, "role": "member"}, headers=headers, follow=True)
            self.assertIn(words, mail.outbox[-1].subject)
            sent = "Einladung an {} gesendet" if language == "de" else "Invitation sent to {}"
            self.assertContains(page, sent.format(email))

    @override_settings(EMAIL_BACKEND="django.core.mail.backends.console.EmailBackend")
    def test_without_a_mail_server_whoever_invites_is_shown_the_link_and_nobody_else(self) -> None:
        self.assertIn("No mail server is set up: you get a link to give to them.", self.page())
        self.do("invite", email="erin@example.com", role="member")
        page = self.page()
        self.assertIn("No mail server is set up, so no mail was sent.", page)
        link = re.search(r"<code data-copy>http://testserver(/invitations/[^<]+)</code>", page)
        assert link
        self.assertEqual(re.findall(r"<code data-copy>http://testserver([^<]+)</code>", self.page()), [link[1]])
        with override_settings(EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend"):
            self.assertNotIn("/invitations/", self.page())
        self.client.force_login(self.person("adam", self.acme, Role.ADMIN))
        self.assertNotIn("/invitations/", self.page())
        self.client.logout()
        self.assertEqual(self.client.get(link[1]).status_code, 200)

    def test_a_tenant_does_not_send_mail_to_the_world(self) -> None:
        now = timezone.now()
        for number in range(people.MAX_OPEN_INVITATIONS):
            people.invite(self.acme, email=f"p{number}@example.com", role=Role.MEMBER, by=self.alice, now=now)
        self.do("invite", email="one-more@example.com", role="member")
        self.assertIn("100 invitations wait", self.page())
        self.assertEqual((Invitation.objects.count(), mail.outbox), (people.MAX_OPEN_INVITATIONS, []))


@without_models
class RoleTest(PeopleCase):
    def test_nobody_gives_takes_or_invites_to_a_role_above_her_own(self) -> None:
        adam = self.person("adam", self.acme, Role.ADMIN)
        self.client.force_login(adam)
        self.assertNotIn('value="owner"', self.page())
        self.assertEqual(self.do("invite", email="x@example.com", role="owner").status_code, 400)
        for what, form in (
            ("change-role", {"role": "viewer"}),
            ("remove-member", {}),
            ("change-role", {"role": "owner"}),
        ):
            self.assertEqual(self.do(what, person="alice", **form).status_code, 403)
        self.assertEqual(self.do("change-role", person="bob", role="owner").status_code, 403)
        self.assertEqual(self.role_of(self.alice), "owner")
        self.do("change-role", person="bob", role="admin")
        self.assertEqual(self.role_of(self.bob), "admin")

    def test_the_last_owner_stays_until_there_is_another(self) -> None:
        self.do("change-role", person="alice", role="member")
        self.do("remove-member", person="alice")
        self.assertIn("This is the last owner of Acme.", self.client.get("/").content.decode())
        self.assertEqual(self.role_of(self.alice), "owner")
        self.do("change-role", person="bob", role="owner")
        self.do("remove-member", person="alice")
        self.assertIsNone(self.role_of(self.alice))

    def test_who_is_removed_opens_nothing_any_more(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        self.do("remove-member", person="bob")
        self.client.force_login(self.bob)
        self.assertEqual(self.client.get(self.chat_url(chat)).status_code, 404)

    def test_whoever_is_not_in_the_tenant_is_nobody(self) -> None:
        for name in ("charlie", "nobody", ""):
            for what in ("change-role", "remove-member"):
                self.assertEqual(self.do(what, person=name, role="viewer").status_code, 404)
        self.assertEqual(self.do("change-role", person="bob", role="king").status_code, 404)

    def test_the_page_is_for_owners_and_admins(self) -> None:
        url = reverse("people", args=["acme"])
        self.person("adam", self.acme, Role.ADMIN)
        for name, status in (
            ("alice", 200),
            ("adam", 200),
            ("bob", 403),
            ("vera", 403),
            ("charlie", 404),
            ("root", 200),
        ):
            self.client.force_login(User.objects.get(username=name))
            self.assertEqual(self.client.get(url).status_code, status, name)
        self.assertEqual(self.client.get(reverse("people", args=["none"])).status_code, 404)
        self.client.logout()
        self.assertEqual(self.client.get(url).status_code, 302)

    def test_it_costs_the_same_however_many_there_are(self) -> None:
        def queries() -> int:
            with CaptureQueriesContext(connection) as captured:
                self.page()
            return len(captured)

        before = queries()
        for number in range(20):
            self.person(f"p{number}", self.acme, Role.MEMBER)
        self.assertEqual(queries(), before)

    def test_names_are_shown_as_text(self) -> None:
        self.person("<script>alert(1)</script>", self.acme, Role.MEMBER)
        self.assertNotIn("<script>alert", self.page())


@without_models
class NamedProjectTest(PeopleCase):
    def restrict(self, *names: str, only: bool = True) -> None:
        self.do("open-project", project="apollo", open="named" if only else "all", person=names)

    def may_open(self) -> set[str]:
        people = User.objects.all()
        return {user.username for user in people if Project.objects.visible_to(user).filter(slug="apollo").exists()}

    def test_a_project_is_open_to_its_tenant_or_to_those_named_and_always_to_who_manages(self) -> None:
        self.person("adam", self.acme, Role.ADMIN)
        self.assertEqual(self.may_open(), {"alice", "adam", "bob", "vera"})
        self.restrict("vera", "charlie", "nobody")
        self.assertEqual(self.may_open(), {"alice", "adam", "vera"})
        self.restrict("vera", only=False)
        self.assertEqual(self.may_open(), {"alice", "adam", "bob", "vera"})
        self.restrict()
        self.assertEqual(self.may_open(), {"alice", "adam"})

    def test_who_is_not_named_cannot_tell_it_from_none(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        self.restrict("vera")
        self.page()
        self.client.force_login(self.bob)
        for url in (reverse("project", args=["acme", "apollo"]), self.chat_url(chat)):
            self.assertEqual(self.client.get(url).status_code, 404)
        self.assertNotContains(self.client.get("/"), "Apollo")

    def test_who_leaves_is_named_no_more_when_she_comes_back(self) -> None:
        self.restrict("bob")
        self.do("remove-member", person="bob")
        Membership.objects.create(tenant=self.acme, user=self.bob)
        self.assertEqual(self.may_open(), {"alice"})

    def test_a_project_of_another_tenant_is_not_opened_from_here(self) -> None:
        self.assertEqual(self.do("open-project", project="zeus", open="named").status_code, 404)


@without_models
class ViewerTest(PeopleCase):
    def test_a_viewer_opens_no_chat_not_even_one_of_her_own(self) -> None:
        chat = self.begin_chat(self.vera, self.apollo)
        self.client.force_login(self.vera)
        self.assertEqual(self.client.get(self.chat_url(chat)).status_code, 403)
        self.assertEqual(self.client.get(reverse("project", args=["acme", "apollo"])).status_code, 200)


class FirstTenantTest(Cast):
    def test_the_first_tenant_is_made_from_the_shell(self) -> None:
        ran = run("create_tenant", "initech", "--name", "Initech", "--owner", "root")
        self.assertEqual(ran.out.strip(), "root owns Initech. Its people: /t/initech/people/")
        self.client.force_login(self.root)
        self.assertContains(self.client.get("/t/initech/people/"), "root")

    def test_what_is_wrong_is_one_line(self) -> None:
        for args, words in (
            (("acme", "--owner", "root"), "slug: Tenant with this Slug already exists."),
            (("A b", "--owner", "root"), "slug: Use lower-case letters"),
            (("x", "--owner", "nobody"), "There is no user “nobody”."),
        ):
            ran = run("create_tenant", *args)
            self.assertEqual((ran.code, words in ran.err), (2, True), ran.err)


@without_models
class ManyInvitationsTest(PeopleCase):
    def test_a_day_has_a_bounded_number_of_them_even_if_each_is_withdrawn(self) -> None:
        for number in range(people.MAX_SENT_PER_DAY - 2):
            audit.log(self.acme, "alice", TenantAction.INVITE, timezone.now(), invitation=number, role=Role.MEMBER)
        for number in range(3):
            self.do("invite", email=f"erin{number}@example.com", role=Role.MEMBER)
            self.do("withdraw", email=f"erin{number}@example.com")
        self.assertEqual(len(mail.outbox), 2)

    def test_an_address_gets_a_bounded_number_of_all_tenants(self) -> None:
        self.client.force_login(self.root)
        for number in range(MAX_MAILS_PER_DAY + 1):
            tenant = Tenant.objects.create(slug=f"tenant{number}", name="Cheap watches at watches.example")
            self.do("invite", f"tenant{number}", email="erin@example.com", role=Role.MEMBER)
            self.assertTrue(tenant.invitations.exists())  # so nobody learns that others invited the address
        self.assertEqual(len(mail.outbox), MAX_MAILS_PER_DAY)
        self.assertNotIn("watches", mail.outbox[0].subject)

    def test_an_address_gets_no_more_of_one_tenant_or_after_withdrawals(self) -> None:
        for _again in range(MAX_MAILS_PER_DAY + 1):
            self.do("invite", email="erin@example.com", role=Role.MEMBER)
            self.do("invite", email="fay@example.com", role=Role.MEMBER)
            self.do("withdraw", email="fay@example.com")
        self.assertEqual(len(mail.outbox), 2 * MAX_MAILS_PER_DAY)
        self.client.force_login(self.root)
        Tenant.objects.create(slug="other", name="Other")
        self.do("invite", "other", email="fay@example.com", role=Role.MEMBER)
        self.assertEqual(len(mail.outbox), 2 * MAX_MAILS_PER_DAY)
