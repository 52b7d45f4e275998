"""Each day what serves nobody any more is deleted: ended sessions; statistics, repetitions and ids of long ago."""

from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from memorybank import services
from memorybank.models import BankDay, PromptCount
from projects.management import tasks
from projects.models import IdempotencyRecord, UpstreamObject
from projects.tenancy import api_keys
from tests.support.cast import Cast
from tests.support.commands import run

LONG_AGO = 400


class TestHousekeeping(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.today = timezone.now().astimezone(UTC).date()
        for bank in (self.apollo.bank, self.zeus.bank):
            for days in (0, LONG_AGO - 1, LONG_AGO + 1):
                day = self.today - timedelta(days=days)
                noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
                PromptCount.objects.count_prompts(bank.pk, PromptCount.Memory.GIVEN, noon)
                BankDay.objects.create(bank=bank, day=day)
        output = services.record(self.apollo.bank, chat_key="c", author="priya", question="A?", answer="B.")
        key, _ = api_keys.issue(self.apollo, "desk", ["write"], actor="alice", now=timezone.now())
        for days in (0, LONG_AGO - 1, LONG_AGO + 1):
            at = timezone.now() - timedelta(days=days)
            for chat in (None, output.chat):
                digest = f"{days} {'in a' if chat else 'without a'} chat"
                UpstreamObject.objects.create(bank=self.apollo.bank, chat=chat, digest=digest, at=at)
            IdempotencyRecord.objects.create(api_key=key, name=str(days), position=0, body="b", at=at)
        Session.objects.create(session_key="ended", expire_date=timezone.now() - timedelta(days=1))
        Session.objects.create(session_key="open", expire_date=timezone.now() + timedelta(days=1))

    def assert_cleaned_up(self) -> None:
        self.assertEqual([session.pk for session in Session.objects.all()], ["open"])
        kept: set[date] = {self.today, self.today - timedelta(days=LONG_AGO - 1)}
        for rows in (PromptCount.objects.all(), BankDay.objects.all()):
            self.assertEqual(set(rows.values_list("day", flat=True)), kept)
            self.assertEqual(rows.count(), 4)  # two days of two banks
        ids = {f"{days} in a chat" for days in (0, 399, 401)} | {"0 without a chat", "399 without a chat"}
        self.assertEqual(set(UpstreamObject.objects.values_list("digest", flat=True)), ids)
        self.assertEqual([record.name for record in IdempotencyRecord.objects.all()], ["0"])

    def test_the_task_that_beat_sends_each_day_deletes_it(self) -> None:
        task = settings.CELERY_BEAT_SCHEDULE["clean-up"]
        self.assertEqual((task["task"], task["schedule"]), (tasks.clean_up.name, 24 * 60 * 60))
        tasks.clean_up()
        self.assert_cleaned_up()

    def test_a_command_does_the_same_and_says_how_much_it_was(self) -> None:
        ran = run("clean_up")
        self.assertIn("4 rows of statistics", ran.out)
        self.assert_cleaned_up()
