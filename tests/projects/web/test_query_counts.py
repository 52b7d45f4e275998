"""Pages and lists need the same number of queries for any amount of data: measured at two sizes."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memorybank import audit
from memorybank.models import Bank, BlockLineVersion, Chat, Entry, Event, Fact, Output
from memorybank.writing.fact_store import new_fact
from projects.models import Conversation, Project
from tests.projects.admin.test_admin import AdminCase
from tests.support.cast import NOON, without_models

MEMORY_PAGES = ("memory", "memory-timeline", "memory-past", "memory-facts", "memory-review", "memory-activity")
MAX_QUERIES = 20


@without_models
class ConstantTest(AdminCase):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", "The launch is on 17 May 2026 in Lisbon.")
        cls.size = 0

    def grow(self, to: int) -> None:
        """Create chats of three turns and five facts each, in as many projects as fit on a page."""
        bank, numbers = self.apollo.bank, range(self.size, to)
        self.size = to
        day = NOON.date()
        chats = Chat.objects.bulk_create(
            Chat(bank=bank, key=f"grown{n}", title=f"Chat {n}", last_output_at=NOON) for n in numbers
        )
        Conversation.objects.bulk_create(Conversation(chat=chat, owner=self.bob) for chat in chats)
        times = {"first_at": NOON, "last_at": NOON, "period_start": day}
        for n, chat in zip(numbers, chats, strict=True):
            outputs = Output.objects.bulk_create(
                Output(
                    chat=chat,
                    sequence=m + 1,
                    author=f"p{n % 9}",
                    question=f"Crate {n}.{m}?",
                    answer="Yes.",
                    created_at=NOON,
                )
                for m in range(3)
            )
            span = {"first_output": 1, "last_output": 3, "output_count": 3}
            leaf = Entry.objects.create(
                bank=bank, granularity="conversation", chat=chat, tokens=50, method="test", **span, **times
            )
            Chat.objects.filter(pk=chat.pk).update(summarised_through=3)
            Fact.objects.create_cited(self.facts(leaf, n, outputs))
        older = list(Fact.objects.order_by("pk")[: to // 2])
        Fact.objects.filter(pk__in=[fact.pk for fact in older]).update(superseded_by=Fact.objects.latest("pk"))
        line = {
            "speaker": "bob",
            "label": "2 March 2026",
            "period_start": NOON.date(),
            "tier": 0,
            "facts": [older[0].pk],
        }
        line |= {"pinned": False, "digest": False, "said_at": NOON, "chats": ["told"], "since": NOON}
        BlockLineVersion.objects.bulk_create(
            BlockLineVersion(bank=bank, text=f"Crate {n}.", until=NOON + timedelta(minutes=n + 1), **line)
            for n in numbers
        )
        for n in numbers:
            self.project(self.acme, f"project{n}")
            audit.log(bank, "alice", Event.Action.HIDE, NOON + timedelta(minutes=n + 1), facts=[older[0].pk])
        Bank.objects.touch(bank.pk)

    def facts(self, leaf: Entry, n: int, outputs: list[Output]) -> list[Fact]:
        kinds = [Fact.Kind.DECISION, Fact.Kind.FACT]
        return [
            new_fact(
                leaf, position=m, kind=kinds[m % 2], text=f"Crate {n}.{m} is in hall {m}.", tokens=9,
                speaker=f"p{n % 9}", said_on=leaf.period_start, citations=[outputs[m % 3].pk],
                quarantine="test" if m == 4 else "",
            )
            for m in range(5)
        ]  # fmt: skip

    def counts(self, user: User, urls: list[str]) -> dict[str, int]:
        self.client.force_login(user)
        counts = {}
        for url in urls:
            with CaptureQueriesContext(connection) as captured:
                self.assertEqual(self.client.get(url).status_code, 200, url)
            counts[url] = len(captured)
        return counts

    def assert_constant(self, user: User, urls: list[str], most: int) -> None:
        self.grow(6)
        before = self.counts(user, urls)
        self.grow(70)
        after = self.counts(user, urls)
        for url, count in after.items():
            with self.subTest(url=url, user=user.username):
                self.assertLessEqual(count, before[url])
                self.assertLessEqual(count, most)

    def memory(self) -> list[str]:
        return [reverse(name, args=["acme", "apollo"]) for name in MEMORY_PAGES]

    def test_every_part_of_the_memory_page(self) -> None:
        asked = [*self.memory(), *(f"{url}?{query}" for url, query in self.queries())]
        self.assert_constant(self.alice, asked, MAX_QUERIES)

    def queries(self) -> list[tuple[str, Any]]:
        facts, then = (reverse(name, args=["acme", "apollo"]) for name in ("memory-facts", "memory-past"))
        return [
            (facts, "q=crate"),
            (facts, "state=block"),
            (then, "at=2026-03-02T12:30"),
            (then, "at=2026-03-02T12:30&to=2026-03-02T13:00"),
            (self.memory()[0], "ask=crate"),
        ]

    def test_every_part_for_a_member(self) -> None:
        urls = [url for url in self.memory() if not url.endswith("review")]
        project = reverse("project", args=["acme", "apollo"])
        self.assert_constant(self.bob, [*urls, reverse("home"), project, f"{project}?q=crate"], MAX_QUERIES)

    def test_every_list_of_the_admin(self) -> None:
        ours = [model for model in admin.site._registry if model._meta.app_label in ("projects", "memorybank")]
        self.assert_constant(self.alice, [self.list_url(model) for model in ours], MAX_QUERIES)
        self.assertGreater(Project.objects.count(), 50)
