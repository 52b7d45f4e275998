"""Every chat has a working address, whatever its key; and a page lists all chats."""

import re
from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from memorybank import services
from memorybank.models import Chat
from projects.chat.views import CHATS_ON_A_PAGE
from projects.models import Conversation
from projects.web.converters import ChatKey
from tests.support.cast import NOON, Cast, without_models

ODD_KEYS = (
    "chat.1", "ticket 17", "дом", "a:b", "a/b", ".", "..", "%2F", "🙂", "?x=1", "#x", "~dGlja2V0", " x ", "a\nb",
    "\x1b[31m", "messages", "private", "-", "'\"<script>", "\\", "\U0001f468" * 200,
)  # fmt: skip
#: A key that is quoted as a path, one that is encoded as a whole, and one that looks as if it were.
OF_EACH_KIND = ("chat.1", "a/b", "~dGlja2V0")


@without_models
class OddKeys(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.chats = []
        for key in ODD_KEYS:
            services.record(cls.apollo.bank, chat_key=key, author="bob", question=f"Hello {len(key)}", now=NOON)
            cls.chats.append(Chat.objects.get(bank=cls.apollo.bank, key=key))
            Conversation.objects.create(chat=cls.chats[-1], owner=cls.bob)

    def test_the_project_page_links_to_chats_with_odd_keys_and_they_open(self) -> None:
        self.client.force_login(self.bob)
        page = self.client.get(reverse("project", args=["acme", "apollo"]))
        for chat in self.chats:
            with self.subTest(key=chat.key[:20]):
                self.assertContains(page, f'href="{self.chat_url(chat)}"')
                self.assertContains(self.client.get(self.chat_url(chat)), "Hello")

    def of_each_kind(self) -> list[Chat]:
        return [chat for chat in self.chats if chat.key in OF_EACH_KIND]

    def test_a_chat_with_an_odd_key_is_written_in_asked_again_and_made_private(self) -> None:
        for chat in self.of_each_kind():
            with self.subTest(key=chat.key[:20]):
                self.assertEqual(self.say(self.bob, chat, "More").status_code, 200)
                posted = self.client.post(self.chat_url(chat), {"message": "Still more"})
                self.assertTrue(posted["Location"].startswith(self.chat_url(chat)))
                self.assertEqual(self.client.get(posted["Location"]).status_code, 200)
                retried = self.client.post(reverse("retry", args=["acme", "apollo", chat.key, 0]))
                self.assertRedirects(retried, self.chat_url(chat))
                switched = self.client.post(self.chat_url(chat, "private"), {"audience": "me"})
                self.assertRedirects(switched, self.chat_url(chat))
                chat.refresh_from_db()
                self.assertTrue(chat.private)
                self.assertEqual(chat.outputs.count(), 3)

    def test_no_stranger_opens_a_chat_with_an_odd_key(self) -> None:
        for user in (None, self.alice, self.charlie, self.root):
            self.client.logout()
            if user:
                self.client.force_login(user)
            for chat in self.of_each_kind():
                for name in ("chat", "private"):
                    with self.subTest(user=user, key=chat.key[:20], name=name):
                        url = self.chat_url(chat, name)
                        answers = [self.client.get(url), self.client.post(url, {"message": "x", "audience": "me"})]
                        self.assertFalse(any(answer.status_code == 200 for answer in answers))
                        self.assertFalse(any(b"Hello" in answer.content for answer in answers))
        self.assertFalse(Chat.objects.filter(private=True).exists())

    def test_the_admin_shows_chats_with_odd_keys(self) -> None:
        self.client.force_login(self.alice)
        self.assertEqual(self.client.get(reverse("admin:memorybank_chat_changelist")).status_code, 200)
        for chat in self.chats:
            page = self.client.get(reverse("admin:memorybank_chat_change", args=[chat.pk]))
            self.assertEqual(page.status_code, 200)


class ManyChats(Cast):
    def setUp(self) -> None:
        super().setUp()
        self.client.force_login(self.bob)

    def add(self, number: int) -> None:
        start = Chat.objects.count()
        rows = [
            Chat(bank=self.apollo.bank, key=f"c{n}", title=f"Chat {n}.", last_output_at=NOON + timedelta(minutes=n))
            for n in range(start, start + number)
        ]
        chats = Chat.objects.bulk_create(rows)
        Conversation.objects.bulk_create(Conversation(chat=chat, owner=self.bob) for chat in chats)

    def test_the_project_page_is_as_long_and_asks_as_much_however_many_chats_there_are(self) -> None:
        seen = []
        for number in (CHATS_ON_A_PAGE + 1, CHATS_ON_A_PAGE * 5):
            self.add(number)
            with CaptureQueriesContext(connection) as captured:
                page = self.client.get(reverse("project", args=["acme", "apollo"]))
            seen.append((len(captured), page.content.count(b'class="row"')))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0][1], CHATS_ON_A_PAGE)

    def test_the_pages_hold_every_chat_once_latest_first(self) -> None:
        self.add(CHATS_ON_A_PAGE * 2 + 3)
        url, shown = reverse("project", args=["acme", "apollo"]), []
        for number in (1, 2, 3):
            page = self.client.get(url, {"page": number})
            shown += [conversation.chat.title for conversation in page.context["conversations"]]
            self.assertEqual(b"Earlier chats" in page.content, number < 3)
        self.assertEqual(shown, [f"Chat {n}." for n in reversed(range(CHATS_ON_A_PAGE * 2 + 3))])

    def test_a_page_that_is_none_is_the_first_or_empty(self) -> None:
        self.add(3)
        for number in ("", "0", "-1", "x", "9" * 30, "²", "\x00"):
            page = self.client.get(reverse("project", args=["acme", "apollo"]), {"page": number})
            self.assertEqual(page.status_code, 200)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_a_key_comes_back_from_its_address_and_the_address_is_plain(key: str) -> None:
    address = ChatKey().to_url(key)
    assert re.fullmatch(ChatKey.regex, address)
    assert ChatKey().to_python(address) == key
