"""A test case with a long chat, which is compacted through the chat page's form, without JavaScript."""

from datetime import timedelta
from typing import Any

from memorybank import services
from memorybank.models import Checkpoint
from tests.support import long_chats
from tests.support.cast import NOON, Cast

GOOD = "- goal: reading logs\n- next: read the log of shard 7"


class LongChat(Cast):
    """Alice has a long chat and is logged in."""

    tokens = 6_000

    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.chat = cls.begin_chat(cls.alice, cls.apollo)
        turns = long_chats.turns(cls.tokens, chat=cls.chat.key, author="alice")
        services.record_many(cls.apollo.bank, turns, now=NOON + timedelta(days=9))

    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.alice)

    def page(self, **query: Any) -> str:
        return self.client.get(self.chat_url(self.chat), query).content.decode()

    def outputs(self) -> int:
        return self.chat.outputs.count()

    def compact(self, message: str = "/compact") -> Checkpoint:
        """Compact the chat through the form; the request returns when the compaction is finished."""
        done = self.client.post(self.chat_url(self.chat), {"message": message})
        self.assertEqual(done.status_code, 302, done.content)
        return self.chat.checkpoints.latest("pk")
