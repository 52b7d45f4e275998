"""Who may what: roles, and strangers, for whom nothing exists."""

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404

from projects.models import Project, Role
from projects.tenancy import permissions
from tests.support.cast import Cast


class AccessTest(Cast):
    def test_a_member_is_let_in(self) -> None:
        for user in (self.alice, self.bob, self.vera):
            self.assertEqual(permissions.enter_project(user, "acme/apollo"), self.apollo)

    def test_a_stranger_cannot_tell_a_project_from_none(self) -> None:
        for path in ("acme/apollo", "acme/none", "none/none", "acme", ""):
            with self.assertRaises(Http404):
                permissions.enter_project(self.charlie, path)

    def test_nobody_is_let_in_without_signing_in(self) -> None:
        with self.assertRaises(Http404):
            permissions.enter_project(AnonymousUser(), "acme/apollo")

    def test_being_a_superuser_opens_no_chat(self) -> None:
        with self.assertRaises(Http404):
            permissions.enter_project(self.root, "acme/apollo")

    def test_a_viewer_may_read_and_not_write(self) -> None:
        with self.assertRaisesMessage(PermissionDenied, "Member"):
            permissions.enter_project(self.vera, "acme/apollo", Role.MEMBER)

    def test_each_role_covers_the_ones_below_it(self) -> None:
        ranks = list(Role)
        for high, role in enumerate(ranks):
            self.assertEqual([role.covers(needed) for needed in ranks], [high <= low for low in range(len(ranks))])

    def test_a_chat_belongs_to_who_began_it(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)

        self.assertEqual(permissions.conversation_for(self.bob, "acme/apollo", chat.key)[1].chat, chat)
        for other in (self.alice, self.charlie, self.root):
            with self.assertRaises(Http404):
                permissions.conversation_for(other, "acme/apollo", chat.key)

    def test_a_chat_is_not_found_through_another_project(self) -> None:
        other = self.project(self.acme, "hermes")
        chat = self.begin_chat(self.bob, self.apollo)

        with self.assertRaises(Http404):
            permissions.conversation_for(self.bob, other.path, chat.key)

    def test_leaving_the_tenant_closes_the_door(self) -> None:
        chat = self.begin_chat(self.bob, self.apollo)
        self.bob.memberships.all().delete()

        with self.assertRaises(Http404):
            permissions.conversation_for(self.bob, "acme/apollo", chat.key)

    def test_staff_administer_the_tenants_they_are_owner_or_admin_of(self) -> None:
        self.assertEqual(list(permissions.tenants_for(self.alice)), [self.acme])
        self.assertEqual(list(permissions.tenants_for(self.bob)), [])
        self.assertEqual(list(permissions.tenants_for(self.root)), [self.acme, self.globex])

    def test_banks_follow_tenants_and_are_named_by_their_project(self) -> None:
        self.assertEqual([bank.label for bank in permissions.banks_for(self.charlie)], ["globex/zeus"])  # type: ignore[attr-defined]
        self.assertEqual(permissions.banks_for(self.root).count(), 2)

    def test_no_memory_outlives_its_project_or_tenant(self) -> None:
        bank, other = self.apollo.bank, self.zeus.bank
        self.apollo.delete()
        self.globex.delete()

        self.assertFalse(type(bank).objects.filter(pk__in=[bank.pk, other.pk]).exists())
        self.assertFalse(Project.objects.exists())
