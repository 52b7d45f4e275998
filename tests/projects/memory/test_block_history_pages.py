"""What the block said at a moment, what changed between two, and what a decision changed in it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from memorybank.models import BlockLineVersion
from projects.memory.block_history_views import MomentsForm
from projects.models import Conversation
from tests.support.cast import NOON

from .test_memory_pages import FERRY, MemoryPageCase

RENDERED_AT = NOON + timedelta(hours=1)
LATER = NOON + timedelta(days=1)
FAR = NOON + timedelta(days=1000)
#: As the block has it, beside its date.
CRANE = "The zanzibar crane is orange since Friday 6 March."
MAY_BE_MISSING = "so some lines may be missing"


class PastTest(MemoryPageCase):
    def setUp(self) -> None:
        super().setUp()
        # The cast speaks at a fixed time; what is kept is counted from today.
        self.enterContext(self.settings(MEMORYBANK={"HISTORY_DAYS": 20_000}))

    def then(self, user: User, **moments: datetime) -> Any:
        return self.see(user, "memory-past", **{name: time.isoformat() for name, time in moments.items()})

    def hide(self) -> None:
        services.hide(self.apollo.bank, fact_ids=[self.crane.pk], actor="alice", now=LATER)

    def test_it_says_what_the_block_said_and_what_changed_until_another_moment(self) -> None:
        self.hide()
        self.assertContains(self.then(self.alice, at=RENDERED_AT), CRANE)
        self.assertNotContains(self.then(self.alice, at=LATER), CRANE)
        page = self.then(self.alice, at=RENDERED_AT, to=LATER)
        self.assertContains(page, f"<del><b>bob</b> {CRANE}</del>")
        self.assertNotContains(page, FERRY)
        self.assertContains(self.then(self.alice, at=LATER, to=LATER), "There is no difference.")

    def test_a_chat_that_is_private_for_a_while_is_back_in_the_history_when_it_is_shared_again(self) -> None:
        Conversation.objects.create(chat=self.apollo.bank.chats.get(key="c0"), owner=self.bob)
        audience, told = reverse("private", args=["acme", "apollo", "c0"]), []
        for chosen in ("me", "project"):
            self.client.force_login(self.bob)
            self.client.post(audience, {"audience": chosen, "sure": "yes"})
            page = self.then(self.vera, at=RENDERED_AT).content.decode()
            told.append((CRANE in page, MAY_BE_MISSING in page))
        self.assertEqual(told, [(False, True), (True, False)])

    def test_until_is_said_only_of_a_line_that_is_not_there_now(self) -> None:
        self.hide()
        ended = [self.then(self.alice, at=RENDERED_AT).content.decode().count('<span class="badge">until')]
        services.restore(self.apollo.bank, fact_ids=[self.crane.pk], actor="alice")
        services.run(bank=self.apollo.bank, now=LATER + timedelta(days=1))
        ended.append(self.then(self.alice, at=RENDERED_AT).content.decode().count('<span class="badge">until'))
        self.assertEqual(ended, [1, 0])

    def test_it_says_that_lines_may_be_missing_only_if_some_may_be(self) -> None:
        bank = self.apollo.bank
        self.remember(self.apollo, "tom", "We decided on Postgres 16 for billing.", "c2")
        before = self.then(self.alice, at=RENDERED_AT)
        crane = bank.chats.get(key="c0").outputs.get()
        new = {"chat_key": "c0", "author": "bob", "question": "The crane is blue.", "replaces": [crane.pk]}
        services.record(bank, answer="Noted.", created_at=LATER, now=LATER, **new)
        edited = [self.then(self.alice, at=moment) for moment in (RENDERED_AT, LATER)]
        services.set_audience(bank, chat_key="c1", readers=[], actor="bob", now=LATER + timedelta(days=1))
        self.assertNotContains(before, MAY_BE_MISSING)
        self.assertEqual([MAY_BE_MISSING in page.content.decode() for page in edited], [True, False])
        self.assertContains(self.then(self.alice, at=LATER), MAY_BE_MISSING)

    def test_it_says_between_two_moments_that_lines_of_the_later_one_may_be_missing(self) -> None:
        moments = [LATER + timedelta(days=days) for days in range(4)]
        self.replace_one_after_another(2, since=moments[0], step=timedelta(days=2))
        between = [self.then(self.alice, at=RENDERED_AT, to=to).content.decode() for to in moments]
        self.assertEqual([MAY_BE_MISSING in page for page in between], [True, True, False, False])

    def test_it_reads_no_more_when_more_messages_are_edited_afterwards(self) -> None:
        read = []
        for versions in (3, 30):
            self.replace_one_after_another(versions, since=LATER, step=timedelta(minutes=1))
            with CaptureQueriesContext(connection) as queries:
                self.then(self.alice, at=RENDERED_AT)
            read.append([len(query["sql"]) for query in queries if "memorybank_output" in query["sql"]])
        self.assertEqual(read[0], read[1])

    def replace_one_after_another(self, versions: int, *, since: datetime, step: timedelta) -> None:
        """Bob says something in a chat of its own, and edits it until there are so many versions."""
        key, replaces = f"edited-{versions}", list[int]()
        for version in range(versions):
            at, question = since + version * step, f"The barge weighs {version} tonnes."
            new = services.record(
                self.apollo.bank,
                chat_key=key,
                author="bob",
                question=question,
                answer="Noted.",
                replaces=replaces,
                created_at=at,
                now=at,
            )
            replaces = [new.pk]

    def test_every_change_is_listed_a_page_after_the_other(self) -> None:
        for hours in range(22):
            at, text = LATER + timedelta(hours=hours), f"The crane weighs {hours} tonnes."
            services.edit_facts(self.apollo.bank, fact_ids=[self.crane.pk], text=text, actor="alice", now=at)
        first = self.see(self.alice, "memory-past")
        [older] = re.findall(r'href="(\?before=[^"]*)#changes"', first.content.decode())
        second = self.client.get(self.url("memory-past") + older)
        listed = [re.findall(r'href="\?(change=[^"]*)"', page.content.decode()) for page in (first, second)]
        self.assertEqual([len(changes) for changes in listed], [20, 2])
        self.assertEqual(len({change for changes in listed for change in changes}), 22)
        self.assertNotContains(second, ">Earlier changes</a>")

    def test_a_day_without_a_time_is_all_of_it_in_the_project_s_zone(self) -> None:
        services.configure(self.apollo.bank, timezone="Asia/Tokyo", actor="alice", now=RENDERED_AT)
        hidden = datetime.fromisoformat("2026-03-03T23:59:00+09:00")
        services.hide(self.apollo.bank, fact_ids=[self.crane.pk], actor="alice", now=hidden)
        days = {"at": "2026-03-03", "to": "2026-03-03"}
        page = self.see(self.alice, "memory-past", **days)
        self.assertContains(page, f"<del><b>bob</b> {CRANE}</del>")
        self.assertContains(page, "From 3 Mar 2026, 00:00 to 3 Mar 2026, 23:59")
        self.assertContains(page, 'type="date" name="at" value="2026-03-03"')
        self.assertContains(self.see(self.alice, "memory-past", at="2026-03-02"), CRANE)
        self.assertNotContains(self.see(self.alice, "memory-past", at="2026-03-03"), CRANE)
        page = self.see(self.alice, "memory-past", at="2026-03-04", to="2026-03-05")
        self.assertContains(page, "There is no difference.")

    def test_a_day_whose_midnight_is_skipped_or_shown_twice_is_all_of_it(self) -> None:
        for zone, day, start, end in (
            ("America/Santiago", "2026-09-06", "04:00", "2026-09-07T02:59"),
            ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00", "20:59"),
            ("America/Havana", "2026-03-08", "05:00", "2026-03-09T03:59"),
            ("America/Havana", "2026-11-01", "04:00", "2026-11-02T04:59"),
            ("America/Santiago", "2026-04-04", "03:00", "2026-04-05T03:59"),
        ):
            with timezone.override(zone):
                form = MomentsForm({"at": day})
                moments = form.moment("at", FAR), form.moment("at", FAR, end=True)
            self.assertEqual(form.errors, {})
            expected = tuple(time if "T" in time else f"{day}T{time}" for time in (start, end))
            self.assertEqual(tuple(f"{at.astimezone(UTC):%Y-%m-%dT%H:%M}" for at in moments if at), expected, zone)

    def test_what_was_hidden_or_put_right_since_is_for_who_decides(self) -> None:
        self.hide()
        for moments in ({"at": RENDERED_AT}, {"change": LATER}, {"at": RENDERED_AT, "to": LATER}):
            self.assertNotContains(self.then(self.bob, **moments), CRANE)
            self.assertContains(self.then(self.alice, **moments), CRANE)
        ferry = self.apollo.bank.facts.get(text=FERRY)
        services.edit_facts(self.apollo.bank, fact_ids=[ferry.pk], text="It sails.", actor="alice", now=LATER)
        self.assertNotContains(self.then(self.bob, at=RENDERED_AT), FERRY)
        page = self.then(self.alice, change=LATER)
        self.assertContains(page, f"<del><b>bob</b> {FERRY}</del>")
        self.assertContains(page, "<ins><b>alice, correcting bob</b> It sails.</ins>")

    def test_activity_says_what_a_change_did_to_the_block(self) -> None:
        self.hide()
        page = self.see(self.alice, "memory-activity")
        self.assertContains(page, "in every chat: 1 removed")
        self.assertNotContains(page, CRANE)
        self.assertNotContains(self.see(self.bob, "memory-activity"), "in every chat:")
        self.assertContains(self.see(self.alice, "memory-past"), "1 removed")

    def test_what_is_not_kept_and_when_memory_was_off_is_said(self) -> None:
        self.assertContains(self.then(self.alice, at=NOON - timedelta(days=1)), "has been deleted")
        services.disable(self.apollo.bank, actor="alice", now=LATER)
        self.assertNotContains(self.then(self.alice, at=RENDERED_AT), "Memory was off then")
        self.assertContains(self.then(self.alice, at=LATER), "Memory was off then")
        services.erase(self.apollo.bank, chat="c0", actor="alice", now=LATER)
        page = self.then(self.alice, at=RENDERED_AT)
        self.assertContains(page, "some lines may be missing")
        self.assertNotContains(page, "zanzibar")
        self.assertContains(page, FERRY)
        BlockLineVersion.objects.all().delete()
        self.assertContains(self.see(self.bob, "memory-past"), "Nothing is kept yet")

    def test_of_what_is_to_come_nothing_is_said(self) -> None:
        page = self.then(self.bob, at=LATER.replace(year=9000))
        self.assertContains(page, FERRY)
        self.assertNotContains(page, "Mar 9000")

    def test_moments_at_the_ends_of_the_calendar_have_a_page(self) -> None:
        for name in ("at", "to", "change"):
            for moment in (
                "0001-01-01",
                "9999-12-31",
                "2026-02-31",
                "0001-01-01T00:00:00Z",
                "0001-01-01T00:00:00+14:00",
                "9999-12-31T23:59:59-12:00",
            ):
                self.see(self.alice, "memory-past", **{name: moment})

    def test_nonsense_is_refused_in_words(self) -> None:
        page = self.see(self.bob, "memory-past", at="yesterday", change="x")
        self.assertContains(page, "Enter a valid date/time.")
