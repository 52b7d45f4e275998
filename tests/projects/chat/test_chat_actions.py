"""A member and her own chats: private from the start, named by hand, deleted with all that memory had of them."""

import re
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from memorybank import services
from memorybank.models import Chat, Erasure, Event, Fact, Output
from projects.chat.views import CHATS_ON_A_PAGE
from projects.models import Conversation, Membership, Project
from projects.tenancy import people
from tests.support.cast import NOON, Cast, without_models
from tests.support.word_search import places

CRANE = "The zanzibar crane will be painted orange before 17 May 2026."
FERRY = "The night ferry to Lisbon leaves at 19:30."


@without_models
class OwnChatsTest(Cast):
    @classmethod
    def setUpTestData(cls) -> None:
        super().setUpTestData()
        cls.switch_on(cls.apollo)
        cls.remember(cls.apollo, "bob", CRANE)
        cls.remember(cls.apollo, "tom", FERRY, chat_key="other")
        cls.chat = Chat.objects.get(key="told")
        Conversation.objects.create(chat=cls.chat, owner=cls.bob)

    def post(self, user: User, name: str, **form: Any) -> Any:
        self.client.force_login(user)
        return self.client.post(self.chat_url(self.chat, name), form, follow=True)

    def test_deleting_is_looked_at_first_then_done_and_leaves_nothing(self) -> None:
        page = self.post(self.bob, "delete-chat")
        self.assertContains(page, "Nothing has been deleted yet")
        self.assertContains(page, "<b>1</b> message and any answer to it</li>")
        self.assertNotContains(page, "others wrote")
        self.assertTrue(places("zanzibar"))
        self.assertFalse(Erasure.objects.exists())
        page = self.post(self.bob, "delete-chat", sure="yes")
        self.assertRedirects(page, reverse("project", args=["acme", "apollo"]))
        self.assertContains(page, "Deleted from the chat and from memory: 1 chat, 1 message and any answer to it")
        self.assertEqual(places("zanzibar"), [])
        self.assertEqual(Erasure.objects.get().asked_by, "bob")
        self.assertFalse(Conversation.objects.exists())
        self.assertTrue(Fact.objects.filter(text=FERRY).exists())
        self.assertEqual(self.post(self.bob, "delete-chat", sure="yes").status_code, 404)

    def test_it_says_how_much_of_it_others_said_and_deletes_one_that_nobody_wrote_in(self) -> None:
        Output.objects.update(author="tom")
        self.assertContains(self.post(self.bob, "delete-chat"), "Messages that others wrote go as well: tom (1).")
        self.chat = self.begin_chat(self.bob, self.apollo)
        self.assertEqual(self.post(self.bob, "delete-chat", sure="yes").status_code, 200)
        self.assertFalse(Chat.objects.filter(pk=self.chat.pk).exists())

    def test_nobody_else_renames_or_deletes_it_and_no_viewer(self) -> None:
        for name in ("rename-chat", "delete-chat"):
            form = {"title": "Mine", "sure": "yes"}
            answers = [self.post(user, name, **form).status_code for user in (self.alice, self.charlie, self.root)]
            self.assertEqual(answers, [404, 404, 404])
            self.assertEqual(self.post(self.vera, name, **form).status_code, 403)
        self.assertEqual(Chat.objects.get(key="told").title, "")

    def test_it_is_renamed_in_place_and_erasure_takes_a_title_by_hand_too(self) -> None:
        self.assertContains(
            self.post(self.bob, "rename-chat", title=" The zanzibar <crane> "), "zanzibar &lt;crane&gt;"
        )
        for wrong, said in ((" ", "Enter a title."), ("x" * 201, "at most 200 characters")):
            self.assertContains(self.post(self.bob, "rename-chat", title=wrong), said)
        self.assertEqual(Chat.objects.get(key="told").title, "The zanzibar <crane>")
        self.say(self.bob, self.chat, "And who paints it?")
        self.assertEqual(Chat.objects.get(key="told").title, "The zanzibar <crane>")
        self.post(self.bob, "rename-chat", title="Painting")
        self.say(self.bob, self.chat, "The quay is wet.")
        services.erase(self.apollo.bank, output=Output.objects.latest("pk").pk, actor="bob")
        self.assertEqual(Chat.objects.get(key="told").title, "Painting")
        self.post(self.bob, "rename-chat", title="The zanzibar crane")
        services.erase(self.apollo.bank, output=Output.objects.earliest("pk").pk, actor="bob")
        self.assertContains(self.client.get(self.chat_url(self.chat)), '<h1 id="title">And who paints it?</h1>')

    def test_what_is_said_in_a_chat_begun_as_private_is_remembered_for_its_author_alone(self) -> None:
        self.client.force_login(self.bob)
        chat = self.client.post(reverse("new-chat", args=["acme", "apollo"]), follow=True).context["chat"]
        page = self.client.post(reverse("private", args=["acme", "apollo", chat.key]), {"audience": "me"}, follow=True)
        self.assertContains(page, "This chat is remembered for: Only me.")  # at once: there is nothing to lose
        self.assertContains(page, "Undo")
        self.assertContains(page, "This chat is private: it is remembered for you")
        self.say(self.bob, chat, "The quokka contract was signed on 3 March 2026.")
        services.run(bank=self.apollo.bank, now=timezone.now() + timedelta(hours=1))
        for user, knows in ((self.bob, True), (self.alice, False)):
            asker = people.enter_as(self.apollo, user)
            memory = services.prompt_memory(self.apollo.bank, question="quokka contract", asker=asker)
            self.assertNotIn("quokka", memory.block.text)
            self.assertIs("quokka" in memory.personal.text, knows)
        self.assertFalse(
            {"StoredBlock", "BlockLineVersion"} & {place.split(".")[1] for place in places("quokka") if "." in place}
        )
        self.assertEqual(Event.objects.filter(action=Event.Action.PUBLIC).count(), 0)

    def test_making_a_chat_private_is_looked_at_first_keeps_pins_and_can_be_undone(self) -> None:
        [fact] = Fact.objects.filter(text=CRANE)
        services.pin(self.apollo.bank, fact_ids=[fact.pk], actor="alice")

        def block_has_it() -> bool:
            return "zanzibar" in services.prompt_memory(self.apollo.bank).block.text

        page = self.post(self.bob, "private", audience="me")
        self.assertContains(page, "This would leave everybody else’s memory")
        self.assertContains(page, CRANE)
        self.assertTrue(block_has_it())
        page = self.post(self.bob, "private", audience="me", sure="yes")
        self.assertContains(page, "Others are no longer told what this chat says")
        self.assertFalse(block_has_it())
        form = re.search(r'class="undo">(.*?)</form>', page.content.decode(), re.DOTALL)
        assert form
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1]))
        page = self.post(self.bob, "private", **fields)
        self.assertRedirects(page, self.chat_url(self.chat))
        self.assertContains(page, "Undone: the chat is remembered for the same people as before.")
        services.run(bank=self.apollo.bank)
        self.assertTrue(block_has_it())
        self.assertTrue(Fact.objects.get(pk=fact.pk).pinned)
        self.post(self.bob, "private", audience="me", sure="yes")
        self.say(self.bob, self.chat, "And who paints it?")  # meanwhile: it is no undoing any more
        self.assertContains(self.post(self.bob, "private", **fields), "Nothing has been shared yet")

    def test_who_leaves_and_comes_back_is_remembered_in_their_own_chat_but_not_in_those_of_others(self) -> None:
        theirs = self.begin_chat(self.alice, self.apollo)
        self.say(self.alice, theirs, "The jib of the tower crane was measured by yeti on 5 May 2026.")
        persons = people.persons_named(self.apollo, ["alice", "bob"])
        services.set_audience(self.apollo.bank, chat_key=theirs.key, readers=persons.values(), actor="alice")
        self.post(self.bob, "private", audience="me", sure="yes")
        Membership.objects.filter(user=self.bob).delete()
        Membership.objects.create(tenant=self.acme, user=self.bob)
        self.assertContains(self.client.get(self.chat_url(self.chat)), "Only me")
        self.say(self.bob, self.chat, "The crane of the yard was painted by okapi on 4 May 2026.")
        services.run(bank=self.apollo.bank, now=timezone.now() + timedelta(hours=1))
        for user, word, found in ((self.bob, "okapi", 1), (self.alice, "okapi", 0), (self.bob, "yeti", 0)):
            person = people.person_of(self.apollo, user)
            hits = services.recall(self.apollo.bank, "Which crane, and who?", top=50, viewer=person)
            self.assertEqual((user.username, word, any(word in hit.text for hit in hits)), (user.username, word, found))

    def test_a_private_chat_and_a_shared_one_that_are_unused_are_not_taken_for_each_other(self) -> None:
        self.client.force_login(self.bob)
        begun = []
        for closed in (False, True, False, True):
            services.configure(self.apollo.bank, actor="alice", new_chats_private=closed)
            begun.append(self.client.post(reverse("new-chat", args=["acme", "apollo"]))["Location"])
        self.assertEqual((begun[0], begun[1]), (begun[2], begun[3]))
        self.assertNotEqual(begun[0], begun[1])
        self.assertEqual(
            sorted(Chat.objects.filter(last_output_at=None).values_list("private", flat=True)), [False, True]
        )


class SearchTest(Cast):
    def setUp(self) -> None:
        self.tell(self.bob, "ropes", "Änderung: the zanzibar ropes cost 40 euros.", "Noted, 100 % sure.")
        self.tell(self.bob, "crane", "The crane is orange.", "So it is, in Zanzibar too.")
        self.tell(self.alice, "hers", "The zanzibar ropes are hers.", "Yes.")
        Chat.objects.filter(key="crane").update(title="What the harbour needs")

    def tell(self, user: User, key: str, question: str, answer: str, project: Project | None = None) -> None:
        bank = (project or self.apollo).bank
        chat = services.record(
            bank, chat_key=key, author=user.username, question=question, answer=answer, now=NOON
        ).chat
        Conversation.objects.create(chat=chat, owner=user)

    def found(self, words: str, **more: Any) -> list[str]:
        self.client.force_login(self.bob)
        page = self.client.get(reverse("project", args=["acme", "apollo"]), {"q": words, **more})
        return sorted(conversation.chat.key for conversation in page.context["conversations"])

    def test_it_finds_words_of_titles_questions_and_answers_in_ones_own_chats(self) -> None:
        fields = {
            "harbour": ["crane"],
            "zanzibar": ["crane", "ropes"],
            "ZANZIBAR cost": ["ropes"],
            "änderung": ["ropes"],
        }
        fields |= {
            "100 %": ["ropes"],
            "%%": [],
            "hers": [],
            "quokka": [],
            "\x00": ["crane", "ropes"],
            " ": ["crane", "ropes"],
        }
        for words, chats in fields.items():
            with self.subTest(words):
                self.assertEqual(self.found(words), chats)

    def test_it_finds_nothing_of_another_project(self) -> None:
        self.tell(self.bob, "secret", "The quokka is in hermes.", "Yes.", self.project(self.acme, "hermes"))
        self.assertEqual(self.found("quokka"), [])

    def test_what_is_sought_stays_on_every_page(self) -> None:
        for number in range(CHATS_ON_A_PAGE):
            self.tell(self.bob, f"more{number}", "A zanzibar & more.", "Yes.")
        self.assertEqual(len(self.found("zanzibar &")), CHATS_ON_A_PAGE)
        self.assertEqual(len(self.found("zanzibar", page=2)), 2)
        page = self.client.get(reverse("project", args=["acme", "apollo"]), {"q": "zanzibar &"})
        self.assertNotContains(page, "Earlier chats")
        self.assertContains(page, 'value="zanzibar &amp;"')
        page = self.client.get(reverse("project", args=["acme", "apollo"]), {"q": "a"})
        self.assertContains(page, "?q=a&amp;page=2#chats")
