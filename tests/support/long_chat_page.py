"""A chat of many tokens, and compacting it by the form of the chat page, without JavaScript."""

from datetime import timedelta
from typing import Any

from memorybank import services
from memorybank.models import Checkpoint
from tests.support import long_chats
from tests.support.cast import NOON, Cast

GOOD = "- goal: reading logs\n- next: read the log of shard 7"


class LongChat(Cast):
    """A test case with a long chat of Alice's."""

    tokens = 6_000

    def setUp(self) -> None:
        super().setUp()
        self.chat = self.begin_chat(self.alice, self.apollo)
        said = long_chats.turns(self.tokens, chat=self.chat.key, author="alice")
        services.record_many(self.apollo.bank, said, now=NOON + timedelta(days=9))
        self.client.force_login(self.alice)

    def page(self, **query: Any) -> str:
        return self.client.get(self.chat_url(self.chat), query).content.decode()

    def outputs(self) -> int:
        return self.chat.outputs.count()

    def compact(self, message: str = "/compact") -> Checkpoint:
        """Compact by the form, which waits until it is done."""
        done = self.client.post(self.chat_url(self.chat), {"message": message})
        self.assertEqual(done.status_code, 302, done.content)
        return self.chat.checkpoints.latest("pk")
