"""Keys of programs: what each opens, how often, until when; made, shown once and revoked."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memorybank.exceptions import InvalidInput
from projects.models import APIKey, Project, Scope
from projects.tenancy import api_keys, authentication, rate_limit
from tests.projects.admin.test_admin import AdminCase
from tests.support.cast import NOON, Cast
from tests.support.commands import run

EVERYTHING = ("read", "write", "admin")


class KeyCase(Cast):
    def key(self, project: Project | None = None, scopes: Any = ("read",), **more: Any) -> str:
        fields = {"actor": "alice", "now": NOON, **more}
        return api_keys.issue(project or self.apollo, "CI", scopes, **fields)[1]

    def status(self, header: str, scope: Scope = Scope.READ, now: Any = NOON) -> int:
        """What the door says, as HTTP does."""
        try:
            authentication.authenticate(header, scope, now=now)
        except authentication.Refused as refused:
            return refused.status
        return 200


class DoorTest(KeyCase):
    def test_a_key_opens_its_project_in_either_header(self) -> None:
        key = self.key()
        for header in (f"Bearer {key}", f"bearer  {key} ", key):
            self.assertEqual(authentication.authenticate(header, Scope.READ, now=NOON).project, self.apollo)
        self.assertEqual(authentication.key_header({"Authorization": "Bearer a", "x-api-key": "b"}), "Bearer a")
        self.assertEqual(authentication.key_header({"x-api-key": "b"}), "b")

    def test_it_is_one_read(self) -> None:
        key = self.key()
        authentication.authenticate(key, Scope.READ, now=NOON)
        with self.assertNumQueries(1):
            self.assertEqual(authentication.authenticate(key, Scope.READ, now=NOON).project.tenant.slug, "acme")

    def test_unknown_revoked_and_expired_are_refused_in_the_same_words(self) -> None:
        expired, revoked = self.key(days=1), self.key()
        api_keys.revoke(APIKey.objects.latest("pk"), actor="alice", now=NOON)
        messages = set()
        for header in (
            "",
            "Bearer",
            "Bearer mb_none",
            "Basic YTpi",
            "ключ",
            "\ud800",
            "\x00",
            revoked,
            f"Bearer {expired}",
        ):
            with self.assertRaises(authentication.Unauthenticated) as refused:
                authentication.authenticate(header, Scope.READ, now=NOON + timedelta(days=1))
            messages.add(str(refused.exception))
        self.assertEqual(len(messages), 1)
        self.assertEqual(self.status(expired, now=NOON + timedelta(hours=23)), 200)

    def test_no_scope_covers_another(self) -> None:
        for own in Scope:
            key = self.key(scopes=[own])
            for asked in Scope:
                self.assertEqual(self.status(key, asked), 200 if asked == own else 403)

    def test_a_key_goes_with_its_project(self) -> None:
        key = self.key()
        self.apollo.delete()
        self.assertFalse(APIKey.objects.exists())
        self.assertEqual(self.status(key), 401)


class PaceTest(KeyCase):
    @override_settings(API_REQUESTS_PER_MINUTE=5)
    def test_so_many_a_minute_and_then_it_says_how_long_to_wait(self) -> None:
        key, now = self.key(), NOON + timedelta(seconds=18)
        self.assertEqual([self.status(key, now=now) for _ in range(7)], [200] * 5 + [429] * 2)
        with self.assertRaises(authentication.RateLimited) as refused:
            authentication.authenticate(key, Scope.READ, now=now)
        self.assertEqual(refused.exception.retry_after, 42)
        self.assertEqual(self.status(self.key(), now=now), 200)
        self.assertEqual(self.status(key, now=now + timedelta(seconds=42)), 200)

    def test_processes_share_the_limit(self) -> None:
        for limit in (40, 45):  # no share is left of the last five
            one, other, key = rate_limit.Shares(), rate_limit.Shares(), self.key()
            row = APIKey.objects.get(digest=APIKey.hashed(key))
            granted = sum(item.grant(row, limit, NOON) for _ in range(limit) for item in (one, other))
            self.assertEqual(granted, limit)

    def test_processes_that_do_not_wait_for_the_database_share_the_limit_too(self) -> None:
        one, other, key = rate_limit.Shares(), rate_limit.Shares(), self.key()
        row = APIKey.objects.get(digest=APIKey.hashed(key))
        granted = 0
        for _ in range(45):
            for item in (one, other):
                allowed, is_due = item.admit(row, 45, NOON)
                granted += allowed
                if is_due:
                    item.reserve(row, 45, NOON)
        self.assertEqual(granted, 45)

    @override_settings(API_REQUESTS_PER_MINUTE=0)
    def test_there_may_be_no_limit(self) -> None:
        key = self.key()
        self.assertEqual({self.status(key) for _ in range(700)}, {200})

    def test_its_last_use_is_kept_to_the_minute_and_few_requests_write(self) -> None:
        key = self.key()
        with CaptureQueriesContext(
            connection,
        ) as asked:
            for second in range(59):
                self.status(key, now=NOON + timedelta(seconds=second))
        written = [query for query in asked.captured_queries if query["sql"].startswith("UPDATE")]
        self.assertLessEqual(len(written), 3)
        self.assertEqual(APIKey.objects.get().last_used_at, NOON)
        self.status(key, now=NOON + timedelta(minutes=5))
        self.assertEqual(APIKey.objects.get().last_used_at, NOON + timedelta(minutes=5))


class IssueTest(KeyCase):
    def test_only_a_hash_is_kept_and_the_trail_says_who_made_and_revoked_it(self) -> None:
        shown = self.key(scopes=["admin", "read"], days=2)
        row = APIKey.objects.get()
        self.assertNotIn(shown, str(list(APIKey.objects.values())))
        self.assertEqual((row.scopes, row.prefix), (["read", "admin"], shown[:12]))
        self.assertTrue(api_keys.revoke(row, actor="bob", now=NOON))
        self.assertFalse(api_keys.revoke(row, actor="bob", now=NOON))
        named = {"project": "apollo", "key": "CI", "prefix": shown[:12]}
        trusted = {"name_sources": "memory,front_end,body"}
        self.assertEqual(
            list(self.acme.events.order_by("number").values_list("actor", "action", "detail")),
            [
                (
                    "alice",
                    "issue",
                    {**named, **trusted, "scopes": ["read", "admin"], "expires_at": "2026-03-04T12:00:00Z"},
                ),
                ("bob", "revoke", named),
            ],
        )

    def test_what_no_key_can_have_is_refused_by_the_name_of_the_field(self) -> None:
        for field, given in {
            "name": ("", ["read"], None),
            "name: one line": ("a\nb", ["read"], None),
            "of 1 to 100": ("a" * 101, ["read"], None),
            "scopes": ("CI", [], None),
            "scopes: one or more of read, write, admin": ("CI", ["all"], None),
            "expires": ("CI", ["read"], 0),
        }.items():
            with self.assertRaisesMessage(InvalidInput, field):
                api_keys.issue(self.apollo, given[0], given[1], actor="alice", days=given[2], now=NOON)
        self.assertFalse(APIKey.objects.exists())

    def test_the_command_shows_it_once(self) -> None:
        made = run("create_api_key", "acme/apollo", "--name", "CI", "--scopes", "read, write")
        self.assertEqual((made.code, made.err), (0, ""))
        self.assertEqual(self.status(made.out.strip(), Scope.WRITE, timezone.now()), 200)
        as_json = run(
            "create_api_key", "acme/apollo", "--name", "B", "--scopes", "read", "--expires", "3", "--json"
        ).json
        self.assertEqual((as_json["name"], as_json["scopes"]), ("B", ["read"]))
        listed = run("api_keys", "acme/apollo", "--json")
        self.assertEqual([item["name"] for item in listed.json["keys"]], ["CI", "B"])
        for shown in (made.out.strip(), as_json["key"]):
            self.assertNotIn(shown, listed.out)

    def test_the_command_revokes_one_by_its_prefix(self) -> None:
        key = self.key()
        self.assertIn("revoked at", run("api_keys", "acme/apollo", "--revoke", key[:12]).out)
        self.assertEqual(self.status(key), 401)
        for project, prefix in (("acme/apollo", "mb_none"), ("globex/zeus", key[:12])):
            ran = run("api_keys", project, "--revoke", prefix)
            self.assertEqual((ran.code, ran.err), (2, f"{project} has no key “{prefix}…”."))

    def test_the_command_says_in_one_line_what_is_wrong(self) -> None:
        ran = run("create_api_key", "acme/apollo", "--name", "CI", "--scopes", "all")
        self.assertEqual((ran.code, ran.err), (2, "scopes: one or more of read, write, admin, people."))


class AdminTest(AdminCase, KeyCase):
    def make(self, **changes: Any) -> Any:
        filled = {"project": self.apollo.pk, "name": "CI", "scopes": ["read", "write"], "days": "30", **changes}
        return self.client.post(reverse("admin:projects_apikey_add"), filled)

    def test_an_owner_makes_one_and_sees_it_once(self) -> None:
        page = self.make()
        key = APIKey.objects.get()
        shown = page.context["key"].secret
        self.assertContains(page, shown)
        self.assertEqual((key.scopes, key.digest), (["read", "write"], APIKey.hashed(shown)))
        self.assertEqual(self.status(shown, Scope.WRITE, timezone.now()), 200)
        for address in (self.change_url(key), self.list_url(APIKey)):
            again = self.client.get(address)
            self.assertContains(again, key.prefix)
            self.assertNotContains(again, shown)
        self.assertNotContains(self.client.get(self.change_url(key)), key.digest)

    def test_she_revokes_it_and_both_are_on_the_trail(self) -> None:
        self.make()
        key = APIKey.objects.get()
        self.client.post(self.list_url(APIKey), {"action": "revoke", "_selected_action": [key.pk]})
        self.assertIsNotNone(APIKey.objects.get().revoked_at)
        self.assertEqual(
            list(self.acme.events.order_by("number").values_list("actor", "action")),
            [("alice", "issue"), ("alice", "revoke")],
        )

    def test_what_is_wrong_is_said_on_the_page(self) -> None:
        for changes, words in (
            ({"scopes": []}, "This field is required"),
            ({"days": "0"}, "greater than or equal to 1"),
            ({"name": "a" * 101}, "one line of 1 to 100 characters"),
            ({"project": self.zeus.pk}, "not one of the available choices"),
        ):
            self.assertContains(self.make(**changes), words)
        self.assertFalse(APIKey.objects.exists())

    def test_nobody_makes_or_sees_keys_of_another_tenant(self) -> None:
        self.make(name="Quokkaberry")
        self.client.force_login(self.charlie)
        self.assertNotContains(self.client.get(reverse("admin:projects_apikey_add")), "Apollo")
        self.assertNotContains(self.client.get(self.list_url(APIKey)), "Quokkaberry")
        self.assertEqual(self.make().status_code, 200)
        self.assertEqual(APIKey.objects.count(), 1)
        bob: User = self.bob
        self.client.force_login(bob)
        self.assertEqual(self.make().status_code, 302)
        self.assertEqual(APIKey.objects.count(), 1)
